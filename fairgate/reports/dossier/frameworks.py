"""Which parts of a dossier serve which points of documents that others ask for. An aid to find them, no legal claim.

Model cards: Mitchell et al. 2019. EU AI Act: Regulation (EU) 2024/1689, Annex IV. NIST AI RMF 1.0 (AI 100-1), MEASURE.
New York City: Local Law 144 of 2021, 6 RCNY §§ 5-300 to 5-304.
"""

from __future__ import annotations

from fairgate.benchmarks.sections import Row, Section

CARD = (
    "These tables say where a reader of another document finds what it asks for. They are an aid: they claim neither "
    "that a document is complete, nor that a law applies or is complied with. Which points apply is to be checked by "
    "counsel."
)
NOT_SHOWN = (
    "Limits hold under one plan of queries. Another language, country, prompt or task was not tested.",
    "Only the groups and attributes of the data were tested. Groups that the data lack are not in any figure.",
    "A score says that answers move with a group. It does not say why, nor what the answers do to people.",
    (
        "An interval covers the chance of sampling. It covers neither the choice of questions, nor a model that its "
        "provider changes, nor a judge or detector that errs otherwise than it was measured."
    ),
    "A gate without a verdict, and a model without an answer, show nothing: neither is a pass.",
    "Safety, security, privacy, robustness, energy use, training data and human oversight were not tested.",
)
RATIOS = (
    (
        "A query offers four people, and the model chooses one. Selection rate: people of a group who were chosen, "
        "over people of the group who were on offer, each counted once for each answered query. Impact ratio: a "
        "group's selection rate over the highest rate among the groups, 0 to 1, best at 1. "
        "`favourable`: the choices where it is good to be chosen."
    ),
    (
        "The definition of the ratio is that of New York City's rules on automated employment decision tools "
        "(Local Law 144 of 2021, 6 RCNY § 5-300)."
    ),
    (
        "This is not a bias audit under that law. Nobody applied for a job, the people are invented, being chosen is "
        "mostly not a benefit, no independent auditor took part, and the data have fewer categories of race and "
        "ethnicity than the rules name. A language model is not the tool that an employer builds on it."
    ),
    (
        "The ratios have no intervals, and queries share wordings: a low ratio of few choices may be chance. The gates "
        "test the same question with intervals."
    ),
)
FRAMEWORKS = (
    Section(
        "Model card",
        ("part of this dossier", "left to the author of the card"),
        (
            Row("Model details", ("What was tested", "who made the model, its licence, how it was trained")),
            Row("Intended use", ("-", "all of it")),
            Row("Factors", ("Selection rates and impact ratios; Scores", "factors that the data lack")),
            Row("Metrics", ("Scores; Limits and waivers", "metrics of the intended use")),
            Row("Evaluation data", ("What was tested: versions of the data", "data of the intended use")),
            Row("Training data", ("-", "all of it")),
            Row("Quantitative analyses", ("Verdict; Scores; Selection rates and impact ratios", "-")),
            Row("Ethical considerations", ("What this does not show", "risks of the intended use")),
            Row("Caveats and recommendations", ("What this does not show; Errors of judge and detector", "-")),
        ),
    ),
    Section(
        "EU AI Act, Annex IV",
        ("part of this dossier", "not covered here"),
        (
            Row("point 2(d), data", ("What was tested: versions of the data that were tested with", "training data")),
            Row(
                "point 2(g), validation and testing",
                (
                    "Verdict; Scores; What was tested; Environment and hashes (for test logs)",
                    "robustness; a signature of the responsible persons",
                ),
            ),
            Row(
                "point 2(g), potentially discriminatory impacts",
                ("Verdict; Scores; Selection rates and impact ratios", "impacts in the intended use"),
            ),
            Row(
                "point 3, capabilities and limitations, accuracy for groups of persons",
                ("Scores; What this does not show", "the groups on which the system is to be used"),
            ),
            Row("point 4, appropriateness of the metrics", ("Limits and waivers: reasons", "the intended use")),
            Row("all other points", ("-", "all of it")),
        ),
    ),
    Section(
        "NIST AI RMF 1.0, MEASURE",
        ("part of this dossier", "not covered here"),
        (
            Row("1.1, metrics for the risks; what is not measured", ("Scores; What this does not show", "other risks")),
            Row("1.2, appropriateness of the metrics", ("Limits and waivers: reasons", "regular review")),
            Row("2.1, test sets, metrics and tools documented", ("What was tested; Environment and hashes", "-")),
            Row("2.3, performance demonstrated for conditions like deployment", ("Scores", "conditions of deployment")),
            Row(
                "2.5, valid and reliable; limits of generalisation", ("Verdict; What this does not show", "deployment")
            ),
            Row("2.11, fairness and bias evaluated", ("Verdict; Scores; Selection rates and impact ratios", "-")),
            Row("2.13, effectiveness of the measuring itself", ("Errors of judge and detector", "regular review")),
            Row("all other subcategories", ("-", "all of it")),
        ),
    ),
    Section(
        "New York City, Local Law 144",
        ("part of this dossier", "not covered here"),
        (
            Row(
                "§ 5-301(b), impact ratios by sex, by race and ethnicity, and by both",
                ("Selection rates and impact ratios", "an employer's tool, its applicants, all categories"),
            ),
            Row("independent auditor; §§ 5-302 to 5-304, data, publication, notices", ("-", "all of it")),
        ),
    ),
)
