"use strict";
// Shows the report that stands in the page as JSON. Whatever anybody said becomes text, never markup.
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const main = document.getElementById("main");
  // Rows are cards on a narrow screen: fewer of them make a page.
  const PAGE = { table: matchMedia("(max-width: 44rem)").matches ? 13 : 50, samples: 10 };

  // An element with properties, and children that are elements or text.
  const make = (tag, properties = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name === "text") element.textContent = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };
  const number = (value) =>
    value === null || value === undefined ? "–" : value.toFixed(1).replace(/^-(?=0\.0$)/, "").replace("-", "−");
  const interval = (each) => (each.low === null || each.high === null ? "–" : `[${number(each.low)}, ${number(each.high)}]`);
  const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  // Somebody's words: their direction is their own, and ends with them.
  const words = (text, tag = "pre") => make(tag, { class: "others", dir: "auto", text });
  const verdict = (said) => make("span", { class: `verdict ${said}`, text: said });
  const live = make("p", { role: "status", "aria-live": "polite", class: "faint" });
  const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;

  // What is wider than the screen scrolls within its own box, and says so.
  const scrolled = (name, content) => {
    const box = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, content);
    const hint = make("p", { class: "faint hint", hidden: "", text: "Scroll sideways to see the rest →" });
    const seen = new ResizeObserver(() => { hint.hidden = box.scrollWidth <= box.clientWidth; });
    seen.observe(box);
    seen.observe(content);
    return [hint, box];
  };
  const folded = (summary, ...children) => make("details", {}, make("summary", { text: summary }), ...children);
  const section = (id, title, ...children) =>
    make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title`, text: title }), ...children);

  // Tables: real ones, sorted by their column heads, a page at a time.
  const table = ({ title, columns, rows, row, told: counts }) => {
    const state = { key: null, up: true, page: 0, rows };
    const head = make("tr");
    const body = make("tbody");
    const caption = make("caption", { "aria-live": "polite" });
    const heads = columns.map((column) => {
      const cell = make("th", { scope: "col", class: column.number ? "number" : "" });
      if (column.value) {
        cell.append(make("button", { type: "button", text: column.title, onclick: () => {
          state.up = state.key === column.key ? !state.up : !column.number;
          state.key = column.key;
          state.page = 0;
          draw();
        } }));
      } else cell.append(make("span", { text: column.title }));
      head.append(cell);
      return cell;
    });
    const turn = (by) => () => { state.page += by; draw(); whole.scrollIntoView({ block: "start", behavior: reduced ? "auto" : "smooth" }); };
    const back = make("button", { type: "button", text: "Earlier rows", onclick: turn(-1) });
    const on = make("button", { type: "button", text: "Later rows", onclick: turn(1) });
    const where = make("span", { class: "faint" });
    const pages = make("nav", { class: "pages", "aria-label": `Pages of ${title}` }, back, where, on);
    const whole = make("div", {}, ...scrolled(`Table: ${title}`, make("table", {}, caption, make("thead", {}, head), body)), pages);
    const compare = (one, other) =>
      typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
    const draw = () => {
      const column = columns.find((each) => each.key === state.key);
      let ordered = state.rows;
      if (column) {
        ordered = state.rows.map((each, place) => [column.value(each), place, each]).sort((one, other) => {
          // What is not known stands last, whichever way.
          const gone = (one[0] === null) - (other[0] === null);
          return gone || (one[0] === null ? 0 : (state.up ? 1 : -1) * compare(one[0], other[0])) || one[1] - other[1];
        }).map((each) => each[2]);
      }
      // A column that says nothing of any row shown takes room from those that do.
      const told = columns.filter((each) => !each.told || !ordered.length || ordered.some(each.told));
      heads.forEach((cell, place) => {
        cell.hidden = !told.includes(columns[place]);
        if (!columns[place].value) return;
        const sorted = columns[place].key === state.key;
        cell.setAttribute("aria-sort", sorted ? (state.up ? "ascending" : "descending") : "none");
      });
      const first = state.page * PAGE.table;
      const page = ordered.slice(first, first + PAGE.table);
      body.replaceChildren(...page.map((each, place) => row(each, told, page[place - 1])));
      const last = Math.min(first + PAGE.table, ordered.length);
      caption.textContent = ordered.length === rows.length ? counts(rows.length) : `${ordered.length} of ${counts(rows.length)}`;
      where.textContent = ordered.length ? `rows ${first + 1} to ${last} of ${ordered.length}` : "no rows";
      pages.hidden = ordered.length <= PAGE.table;
      back.disabled = first === 0;
      on.disabled = last >= ordered.length;
    };
    draw();
    return { whole, keep: (wanted) => { state.rows = rows.filter(wanted); state.page = 0; draw(); return state.rows.length; } };
  };
  const line = (each, columns, before) => make("tr", { class: each.verdict === "inconclusive" && each.beside ? "beside" : null }, ...columns.map((column, place) => {
    const cell = make(place === 0 ? "th" : "td", place === 0 ? { scope: "row" } : { class: column.number ? "number" : "", "data-title": column.title });
    cell.append(column.show ? column.show(each, before) : String(each[column.key] ?? ""));
    return cell;
  }));
  const plain = (key, title) => ({ key, title, value: (each) => each[key] ?? "", told: (each) => each[key] });
  const several = (all, key) => new Set(all.map((each) => each[key])).size > 1;
  const numeric = (key, title, show) => ({
    key, title, number: true, value: (each) => each[key] ?? null, show: show ?? ((each) => number(each[key])),
    told: (each) => (each[key] ?? null) !== null,
  });

  const value = (each) => `${number(each.value)}${each.strays ? " †" : ""}`;
  // A gate at a glance: what is allowed, the interval, the estimate and the limit; on the scale of its limit, or as far
  // as it takes for the gates on the same score.
  const scale = (gate) => {
    const known = [gate.low, gate.high, gate.estimate].filter((each) => each !== null);
    // So many times the limit as it takes, twice at least.
    const times = (limit, far) => Math.min(100, limit * Math.max(2, Math.ceil(far / (limit || 1))) || Math.max(far, 1));
    if (gate.signed) {
      const end = times(gate.max ?? 50, Math.max(0, ...known.map(Math.abs)));
      return [-end, end];
    }
    if (gate.min === null) return [0, times(gate.max ?? 50, Math.max(0, ...known))];
    if (gate.max === null) return [100 - times(100 - gate.min, 100 - Math.min(100, ...known)), 100];
    const room = (gate.max - gate.min) / 2;
    return [Math.max(0, Math.min(gate.min - room, ...known)), Math.min(100, Math.max(gate.max + room, ...known))];
  };
  const gauge = (gate, [start, end]) => {
    const share = (points) => (100 * points) / (end - start);
    const percent = (value) => `${Math.max(0, Math.min(100, value))}%`;
    const part = (name, left, width) => {
      const element = make("span", { class: name });
      element.style.left = percent(share(left - start));
      if (width !== undefined) element.style.width = percent(share(width));
      return element;
    };
    const most = gate.max ?? 100;
    const least = gate.min ?? (gate.signed ? -most : 0);
    const shown = make("span", { class: "gauge" }, part("allowed", Math.max(least, start), Math.min(most, end) - Math.max(least, start)));
    if (gate.low !== null && gate.high !== null) shown.append(part("interval", gate.low, Math.max(gate.high - gate.low, (end - start) / 100)));
    if (gate.signed) shown.append(part("zero", 0));
    if (gate.min !== null || gate.signed) shown.append(part("limit", least));
    if (gate.max !== null) shown.append(part("limit", gate.max));
    if (gate.estimate !== null) shown.append(part("estimate", gate.estimate));
    const ends = [start, end].map((each) => make("span", { text: each.toFixed(0).replace("-", "−") }));
    return make("span", { class: "scale", "aria-hidden": "true" }, shown, make("span", { class: "ends" }, ...ends));
  };

  const shares = (cell) => {
    const grid = make("div", { class: "shares" });
    for (const [group, n] of Object.entries(cell.counts)) {
      const share = cell.n ? (100 * n) / cell.n : 0;
      const filled = make("span");
      filled.style.width = `${share}%`;
      const bar = make("span", { class: "bar", "aria-hidden": "true" }, filled);
      const truth = cell.truth[group];
      if (truth !== undefined) {
        const mark = make("span", { class: "truth" });
        mark.style.left = `${truth}%`;
        bar.append(mark);
      }
      grid.append(make("span", { text: group }), bar, make("span", { text: (cell.n ? `${share.toFixed(0)} % (${n})` : "–")
        + (truth === undefined ? "" : `, truth ${truth.toFixed(0)} %`) }));
    }
    for (const [kind, n] of Object.entries(cell.unanswered)) {
      grid.append(make("span", { class: "faint", text: kind }), make("span"), make("span", { class: "faint", text: String(n) }));
    }
    return grid;
  };

  // The samples behind a cell: searched, and a page at a time.
  const drill = make("section", { id: "drill", role: "dialog", tabindex: "-1", hidden: "", "aria-labelledby": "drill-title" });
  let opener = null;
  const failed = report.gates.filter((gate) => gate.verdict === "fail" || gate.verdict === "waived");
  // Whether a gate is over a topic, among others.
  const isOver = (gate, cell) => ["benchmark", "task", "context"].every((key) => gate[key] === cell[key])
    && (!gate.attribute || gate.attribute === cell.attribute);
  const named = (cell) => [cell.about, cell.level, cell.task, cell.context, cell.attribute].filter(Boolean).join(", ");
  const chosen = (sample, cell) => {
    if (sample.chosen === undefined) return "";
    const [letter, groups] = sample.options[sample.chosen];
    return `${letter}: ${Object.values(groups).join(", ")}`;
  };
  // An image: what was found in it, and the picture where the page holds one, which is of its own making.
  const image = (sample, cell) => {
    const here = sample.image && report.samples[cell.topic].pictures?.[sample.image];
    const found = Object.entries(sample.found).map(([attribute, told]) => `${attribute}: ${told}`);
    return make("div", { class: "painted" },
      here ? make("img", { src: here, alt: `Image ${sample.id}: ${[sample.state, ...found].join("; ")}` }) : null,
      make("div", {}, make("p", { text: sample.state }), ...found.map((text) => make("p", { text })),
        sample.image ? make("p", { class: "faint hash", text: `sha256 ${sample.image}` }) : null));
  };
  const article = (sample, cell) => {
    const options = (sample.options ?? []).map(([letter, groups]) => `${letter} = ${Object.values(groups).join(", ")}`).join("; ");
    const said = chosen(sample, cell);
    return make("article", {},
      make("h3", { text: sample.id }), sample.asked ? words(sample.asked, "div") : null,
      sample.state ? image(sample, cell) : make("p", { text: `${sample.kind}${said ? ` ${said}` : ""} (read as ${sample.how}${sample.to === "judge" ? "; said by the judge" : ""})` }),
      sample.state ? null : sample.reply === undefined ? make("p", { class: "faint", text: "There is no reply." }) : words(sample.reply),
      make("details", {}, make("summary", { text: "What was asked" }), words(sample.prompt),
        options ? make("p", { class: "faint", text: `Options: ${options}` }) : null));
  };
  const open = (name, from) => {
    const cell = report.cells.find((each) => each.name === name);
    if (!cell) return;
    opener = from ?? null;
    const held = report.samples[cell.topic] ?? { all: 0, shown: [] };
    const search = make("input", { type: "search", id: "search" });
    const group = make("select", { id: "picked" }, make("option", { value: "", text: "all" }),
      ...Object.keys(cell.counts).filter(() => cell.attribute).map((each) => make("option", { value: each, text: each })));
    const list = make("div");
    const told = make("p", { role: "status", "aria-live": "polite", class: "faint" });
    let page = 0;
    const back = make("button", { type: "button", text: "Earlier samples", onclick: () => { page -= 1; draw(); } });
    const on = make("button", { type: "button", text: "Later samples", onclick: () => { page += 1; draw(); } });
    const pages = make("nav", { class: "pages", "aria-label": "Pages of samples" }, back, on);
    const draw = () => {
      const sought = search.value.toLocaleLowerCase();
      const found = held.shown.filter((sample) => {
        const found = [sample.state ?? "", ...Object.values(sample.found ?? {})].join("\n");
        const text = `${sample.id}\n${sample.prompt}\n${sample.reply ?? ""}\n${sample.kind}\n${found}`.toLocaleLowerCase();
        const picked = sample.chosen === undefined ? sample.groups?.[cell.attribute] ?? [] : [sample.options[sample.chosen][1][cell.attribute]];
        return text.includes(sought) && (!group.value || picked.includes(group.value));
      });
      page = Math.max(0, Math.min(page, Math.ceil(found.length / PAGE.samples) - 1));
      const first = page * PAGE.samples;
      list.replaceChildren(...found.slice(first, first + PAGE.samples).map((sample) => article(sample, cell)));
      const left = held.all - held.shown.length;
      told.textContent = `${found.length ? `Samples ${first + 1} to ${Math.min(first + PAGE.samples, found.length)} of ${found.length} found` : "No sample found"}`
        + ` among ${held.shown.length}, the telling ones first${left > 0 ? `; ${left} more are in the ledger alone` : ""}.`
        + (held.unpictured ? ` ${held.unpictured} of the images are told in words alone.` : "");
      back.disabled = page === 0;
      on.disabled = first + PAGE.samples >= found.length;
      pages.hidden = found.length <= PAGE.samples;
    };
    const seek = () => { page = 0; draw(); };
    search.addEventListener("input", seek);
    group.addEventListener("change", seek);
    // A topic that does not fail alone can be why a gate over many topics fails: it has no badge.
    const failing = failed.filter((gate) => isOver(gate, cell));
    const standing = cell.verdict !== "pass" ? make("p", {}, verdict(cell.verdict), ` ${cell.answer}`)
      : make("p", { text: `Chance alone could explain this one topic${failing.length ? "; over all topics together it cannot" : ""}. ${cell.answer}` });
    drill.replaceChildren(
      make("div", { class: "bar-top" }, make("h2", { id: "drill-title", text: `Samples: ${named(cell)}` }),
        make("button", { type: "button", text: "Close", onclick: close })),
      ...failing.map((gate) => make("p", {}, "Counts in ", make("strong", { text: gate.name }), `, which failed: ${number(gate.estimate ?? gate.value)}${gate.low === null ? "" : ` (${number(gate.low)} to ${number(gate.high)})`}, limit: ${gate.limit}.`)),
      standing, shares(cell),
      make("p", { class: "faint", text: report.warning }),
      make("fieldset", {}, make("label", { for: "search" }, "Search in prompts and replies", search),
        cell.attribute ? make("label", { for: "picked" }, "Picked group", group) : null),
      told, list, pages,
      make("details", {}, make("summary", { text: "Run this case alone" }), words(cell.command)));
    drill.hidden = false;
    draw();
    history.replaceState(null, "", `#cell=${encodeURIComponent(name)}`);
    drill.scrollTop = 0;
    drill.focus({ preventScroll: true });
  };
  const close = () => {
    drill.hidden = true;
    history.replaceState(null, "", " ");
    if (opener?.isConnected) opener.focus();
  };
  drill.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  const opening = (name, text, about) => make("button", {
    type: "button", text, "aria-label": about ? `${text}: ${about}` : null, onclick: (event) => open(name, event.currentTarget),
  });

  // The story.
  const listed = (pairs) => make("dl", { class: "about" }, ...pairs.map(([label, value]) => make("div", {}, make("dt", { text: label }), make("dd", {}, words(value, "span")))));
  const contents = make("nav", { "aria-label": "Contents", class: "pages" });
  main.append(make("div", { class: "facts" }, listed(report.facts)));
  // The first sentence of why stands beside the verdict already.
  for (const sentence of report.invalid.filter((each) => each !== report.lead)) main.append(make("p", { class: "error-said" }, words(sentence, "span")));
  const further = report.why.filter((each) => each !== report.lead);
  // What to read next is a way there.
  const [before, after] = report.verdict === "fail" && report.findings.length ? report.next_step.split("below") : [report.next_step];
  const next = make("p", {}, words(before, "span"), ...(after === undefined ? [] : [make("a", { href: "#why", text: "below" }), after]));
  const said = (sentence) => make("p", {}, words(sentence, "span"));
  main.append(make("div", { class: "short" }, ...further.map(said), next, ...(report.stopped ? [said(report.stopped)] : [])), contents);
  if (report.since) {
    main.append(section("since", "Since the baseline",
      words(report.since.over, "p"), make("ul", {}, ...report.since.sentences.map((sentence) => make("li", {}, words(sentence, "span"))))));
  }
  // A topic that shows it: the sentence and the way to its samples, and beside them a question, the choices and the reply.
  const quote = (reply) => {
    const options = reply.options.length > 0
      ? make("ul", { class: "options" }, ...reply.options.map((text, place) => make("li", {}, ...(place === reply.chosen ? [make("span", { "aria-hidden": "true", text: "➜ " }), make("span", { class: "heard", text: "Chosen: " }), make("strong", {}, words(text, "span"))] : [words(text, "span")]))))
      : null;
    return make("blockquote", {},
      reply.named ? make("p", { class: "faint" }, "The context names: ", words(reply.named, "span")) : null,
      words(reply.asked, "p"), options,
      reply.painted ? (reply.image ? make("img", { src: reply.image, alt: reply.meant }) : null)
        : reply.reply === null ? make("p", { class: "faint", text: "no reply" }) : make("p", {}, make("span", { class: "faint", text: "Reply: " }), words(reply.reply, "span")),
      reply.meant && reply.chosen === null ? make("p", { class: "faint" }, words(reply.meant, "span")) : null,
      folded("The whole prompt", words(reply.prompt)));
  };
  const example = (topic) => [
    make("div", {}, make("p", {}, words(`For example, ${topic.sentence}.`, "span")), topic.cell ? opening(topic.cell, "All its samples", topic.sentence) : null),
    topic.reply ? quote(topic.reply) : null,
  ].filter(Boolean);
  const shownAs = (finding, headed = true) => {
    // What is seen at once has a reply, where any topic has.
    const seen = Math.max(finding.topics.findIndex((topic) => topic.reply), 0);
    const [first, ...rest] = [...finding.topics.slice(seen), ...finding.topics.slice(0, seen)];
    const [said, reply] = first ? example(first) : [null, null];
    return make("div", { class: "finding" },
      make("div", {}, headed ? make("p", {}, verdict(finding.verdict), " ", make("strong", { text: finding.gates })) : "",
        ...finding.claims.filter((claim) => !report.lead.includes(claim.slice(1))).map((claim) => make("p", {}, words(`${claim[0].toUpperCase()}${claim.slice(1)}.`, "span"))), said ?? ""), reply ?? "",
      rest.length ? make("div", { class: "rest" }, folded(rest.length === 1 ? "One more example" : `${rest.length} more examples`,
        ...rest.map((topic) => make("div", { class: "finding" }, ...example(topic))))) : null);
  };
  let why = null;
  if (report.findings.length) {
    const byScore = Map.groupBy(report.findings, (finding) => finding.score);
    why = section("why", "What failed, and why",
      make("p", { class: "faint", text: `Of each failed gate the worst topics, each with one reply. ${report.warning}` }),
      ...[...byScore.values()].flatMap(([first, ...others]) => [shownAs(first), ...others.flatMap((finding) => [
        make("p", {}, verdict(finding.verdict), " ", make("strong", { text: finding.gates }), words(`: ${finding.numbers}`, "span")),
        folded(finding.topics.length ? `What it did on ${finding.gates}, with an example` : "What it did", shownAs(finding, false))])]));
  }

  const choose = { benchmark: "Benchmark", task: "Task", context: "Context", attribute: "Attribute", about: "Statistic or category", verdict: "Enough by itself?" };
  const alone = (said) => ({ pass: "no", fail: "yes" })[said] ?? said;
  const picks = {};
  const bar = make("fieldset", { id: "filters" }, make("legend", { text: "Show in the tables of topics and scores" }));
  const everything = [...report.scores, ...report.cells];
  for (const [key, title] of Object.entries(choose)) {
    const values = [...new Set(everything.map((each) => each[key]).filter(Boolean))].sort();
    if (!values.length) continue;
    const select = make("select", { id: `filter-${key}`, onchange: () => filter() }, make("option", { value: "", text: "all" }),
      ...values.map((value) => make("option", { value, text: key === "verdict" ? alone(value) : value })));
    picks[key] = select;
    bar.append(make("label", { for: `filter-${key}` }, title, select));
  }
  bar.append(make("button", { type: "button", id: "filter-none", text: "Show all", onclick: () => {
    for (const select of Object.values(picks)) select.value = "";
    filter();
  } }));

  // Gates by what a reader came for: what failed is open, or what is undecided where nothing did; the others are counted.
  const terms = new Map(report.terms);
  const inWords = (name) => name.split(" ").flatMap((word) => [" ", terms.has(word) ? make("abbr", { title: terms.get(word), text: word }) : word]).slice(1);
  const gateTable = (title, rows, told) => {
    const scales = new Map([...Map.groupBy(rows, (gate) => gate.score)].map(([score, all]) => {
      const ends = all.map(scale);
      return [score, [Math.min(...ends.map(([start]) => start)), Math.max(...ends.map(([, end]) => end))]];
    }));
    return table({
      title, rows, told, row: line,
      columns: [
        // What a score asks is said once for the rows that follow one another.
        { ...plain("name", "Gate"), show: (gate, before) => {
          const said = make("span", {}, make("span", {}, ...inWords(gate.name)));
          if (gate.asks && before?.asks !== gate.asks) said.append(make("span", { class: "asks", text: gate.asks }));
          return said;
        } },
        { key: "verdict", title: "Verdict", value: (gate) => ["fail", "waived", "inconclusive", "pass"].indexOf(gate.verdict), show: (gate) => verdict(gate.verdict) },
        numeric("estimate", "Estimate"), numeric("low", "Interval", interval),
        { key: "limit", title: "Limit", value: (gate) => gate.max ?? gate.min, show: (gate) => make("span", { class: "limit", title: gate.limitReason, text: gate.limit }) },
        // A difference lies on another scale.
        { key: "gauge", title: "Against the limit", show: (gate) => (gate.change ? "" : gauge(gate, scales.get(gate.score))), told: (gate) => !gate.change },
        // A value that is its own estimate is not said twice.
        { ...numeric("value", "Value", (gate) => (number(gate.value) === number(gate.estimate) ? "" : value(gate))), told: (gate) => number(gate.value) !== number(gate.estimate) },
        numeric("best", "Ideal", (gate) => (gate.best === null ? "" : number(gate.best))),
        plain("reason", "Remark"),
      ],
    }).whole;
  };
  // A pass shows the gates closest to their limits; a failure the undecided gates on the same scores beside it.
  const CLOSEST = 13;
  const passed = report.gates.filter((gate) => gate.verdict === "pass" && !gate.rate);
  const margin = (gate) => gate.margin ?? Infinity;
  const near = report.verdict === "pass" && passed.length > CLOSEST ? [...passed].sort((one, other) => margin(one) - margin(other)).slice(0, CLOSEST) : [];
  const scoresFailed = new Set(failed.map((gate) => gate.score));
  const undecided = report.gates.filter((gate) => gate.verdict === "inconclusive");
  for (const gate of undecided) gate.beside = scoresFailed.has(gate.score);
  const beside = undecided.filter((gate) => gate.beside);
  const besides = [...scoresFailed].flatMap((score) => [...failed, ...beside].filter((gate) => gate.score === score));
  const groups = [
    ["Failed gates", () => `${counted(failed.length, "gate")} failed${beside.length ? `; ${beside.length} on the same score${scoresFailed.size > 1 ? "s" : ""} undecided` : ""}`, besides],
    ["Undecided gates", (n) => `${counted(n, beside.length ? "other gate" : "gate")} undecided`, undecided.filter((gate) => !gate.beside)],
    ["Gates closest to their limits", (n) => `${counted(passed.length, "gate")} on scores passed: the ${n} closest to their limits`, near],
    ["Gates on scores that passed", (n) => `${counted(n, near.length ? "further gate" : "gate")} on scores passed`, passed.filter((gate) => !near.includes(gate))],
    ["Gates on rates that passed", (n) => `${counted(n, "gate")} on rates passed`, report.gates.filter((gate) => gate.verdict === "pass" && gate.rate)],
  ].filter(([, , rows]) => rows.length);
  const gates = section("gates", "Gates",
    ...groups.map(([title, told, rows], place) => {
      const shown = gateTable(title, rows, told);
      return place === 0 ? shown : folded(told(rows.length), rows.some((gate) => gate.verdict === "inconclusive") && report.further ? make("p", { text: report.further }) : null, shown);
    }),
    report.gates.some((gate) => gate.change) ? make("p", { class: "faint note", text: report.changes }) : null,
    make("details", { id: "terms" }, make("summary", { text: "What the words, scores and bars mean" }),
      listed([...report.terms, ...Object.entries(report.asks)]),
      make("p", { class: "note", text: `A gate fails where the whole interval of the estimate is beyond its limit, by more than chance explains with all gates in view. On a bar green is allowed, blue is the interval, black the estimate, and orange the limit. ${report.ideal}`
        + (report.gates.some((gate) => gate.strays) ? " †: outside the interval." : "") })));
  // First the topics of failed gates: those that tell most, then the most uneven ones.
  const most = (cell) => (cell.n ? Math.max(...Object.values(cell.counts)) / cell.n : null);
  const telling = report.findings.flatMap((finding) => finding.topics.map((topic) => topic.cell));
  const ranks = new Map(report.cells.map((cell) => {
    const place = telling.indexOf(cell.name);
    const counts = failed.some((gate) => isOver(gate, cell));
    return [cell, [
      place < 0 ? telling.length : place, counts ? 0 : 1, ["error", "fail", "inconclusive", "pass"].indexOf(cell.verdict),
      counts ? 1 / (Object.keys(cell.counts).length || 1) - (most(cell) ?? 0) : 0,
    ]];
  }));
  const byRank = (one, other) => ranks.get(one).map((each, place) => each - ranks.get(other)[place]).find((each) => each) ?? 0;
  const topics = table({
    title: "Topics", rows: [...report.cells].sort(byRank), row: line, told: (n) => counted(n, "topic"),
    columns: [
      plain("about", "Statistic or category"), plain("level", "Level"), plain("task", "Task"), plain("context", "Context"), plain("attribute", "Attribute"),
      { key: "verdict", title: "Enough by itself?", value: (cell) => ["error", "fail", "inconclusive", "pass"].indexOf(cell.verdict), show: (cell) => (cell.verdict === "pass" ? make("span", { class: "faint", text: alone(cell.verdict) }) : make("span", { class: `verdict ${cell.verdict}`, text: alone(cell.verdict) })) },
      numeric("n", "Answers", (cell) => String(cell.n)),
      { key: "most", title: "Most picked", number: true, value: most, show: (cell) => (cell.n ? `${(100 * most(cell)).toFixed(0)} %` : "–") },
      { key: "open", title: "Samples", show: (cell) => opening(cell.name, "Samples", named(cell)) },
      { key: "counts", title: "Answers by group", show: shares },
    ],
  });
  const scores = table({
    title: "Scores", rows: report.scores, row: line, told: (n) => counted(n, "score"),
    columns: [
      plain("score", "Score"), ...(several(report.scores, "benchmark") ? [plain("benchmark", "Benchmark")] : []), plain("task", "Task"), plain("context", "Context"), plain("attribute", "Attribute or group"), plain("scoring", "Scoring"),
      numeric("value", "Value", value), numeric("estimate", "Estimate"), numeric("low", "Interval", interval),
      numeric("best", "Ideal"), numeric("n", "Answers", (score) => score.n.toLocaleString("en")), { ...plain("topics", "Topics"), number: true },
    ],
  });
  const filter = () => {
    const wanted = (has) => (each) => Object.entries(picks).every(([key, select]) => !select.value || !has.includes(key) || each[key] === select.value);
    const counts = [
      topics.keep(wanted(["benchmark", "task", "context", "attribute", "about", "verdict"])),
      scores.keep(wanted(["benchmark", "task", "context", "attribute"])),
    ];
    live.textContent = ["topic", "score"].map((noun, place) => counted(counts[place], noun)).join(", ");
  };
  main.append(...[gates, why, bar, live,
    section("topics", "Topics", make("p", { class: "faint note", text: `One row for each case: what was answered, and the samples behind it. ${failed.length ? "Those of failed gates come first. " : ""}One topic is enough by itself only where chance cannot explain its answers; a gate counts many of them.` }), topics.whole),
    section("scores", "Scores", make("p", { class: "faint note", text: "Values as the papers compute them (definition, and as their programs do: reference); the estimate is for all replies that the model would give."
      + (report.scores.some((score) => score.strays) ? ` ${report.ideal} †: outside the interval.` : "") }), scores.whole),
    drill].filter(Boolean));
  if (report.plots?.length) {
    main.append(section("plots", "Plots",
      ...report.plots.map((plot) => make("figure", {},
        ...(plot.image ? scrolled(`Plot: ${plot.title}`, make("img", { src: plot.image, alt: `${plot.title}: in words below.`, loading: "lazy" })) : []),
        make("figcaption", {}, make("details", plot.image ? {} : { open: "" }, make("summary", { text: `${plot.title}, in words` }), plot.alt))))));
  }
  main.append(
    section("notes", "Notes",
      make("ul", {}, ...report.notes.map((note) => make("li", {}, words(note, "span"))), make("li", { text: report.notice }))),
    section("about", "About this run", listed(report.about),
      folded("All numbers as text", make("pre", { tabindex: "0", text: report.numbers }))),
  );
  for (const title of main.querySelectorAll("section:not(#drill) > h2")) {
    contents.append(make("a", { href: `#${title.parentElement.id}`, text: title.textContent }));
  }
  filter();
  const linked = decodeURIComponent(location.hash).match(/^#cell=(.*)$/);
  if (linked) open(linked[1]);
})();
