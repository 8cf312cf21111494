# docker build -t fairgate .
# docker run --rm -v "$PWD:/work" -e OPENAI_API_KEY fairgate run --model=openai/my-model
FROM python:3.12-slim-bookworm

# What OpenCV, which finds faces, links against.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git libgl1 libglib2.0-0 \
    && rm -rf /var/lib/apt/lists/*

# Mounted: a layer would keep the sources.
RUN --mount=type=bind,target=/src,rw python -m pip install --no-cache-dir "/src[images,plots]"

RUN useradd --create-home --uid 10001 gate && mkdir /work && chown gate /work
USER 10001
WORKDIR /work
ENTRYPOINT ["fairgate"]
CMD ["run"]
