# docker build -t bythebook:0.1.0 .
# docker run -p 127.0.0.1:8000:8000 -v bythebook:/data bythebook:0.1.0
FROM python:3.11.13-slim-bookworm AS build
WORKDIR /source
ENV PIP_NO_CACHE_DIR=1 PIP_CONSTRAINT=/source/constraints.txt
COPY constraints.txt ./
COPY packages/reader ./packages/reader
RUN python -m pip wheel --no-deps --wheel-dir /wheels ./packages/reader
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
RUN python -m pip wheel --no-deps --wheel-dir /wheels .
RUN python -m venv --without-pip /opt/bythebook \
 && python -m pip --python /opt/bythebook/bin/python install /wheels/*.whl

FROM python:3.11.13-slim-bookworm
# git reads books that lie in git repositories.
RUN apt-get update && apt-get install --yes --no-install-recommends git \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 bythebook \
 && install -d -o bythebook -g bythebook /data
COPY --from=build /opt/bythebook /opt/bythebook
ENV PATH=/opt/bythebook/bin:$PATH PYTHONUNBUFFERED=1 BYTHEBOOK_HOME=/data BYTHEBOOK_HOST=0.0.0.0 BYTHEBOOK_PORT=8000
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 CMD ["python", "-c", "import http.client as h, os, sys; c = h.HTTPConnection('127.0.0.1', int(os.environ['BYTHEBOOK_PORT']), timeout=5); c.request('GET', '/health'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["bythebook"]
# The first start makes a key and prints it: nobody reaches a service in a container from its own loopback.
CMD ["serve", "--make-key"]
