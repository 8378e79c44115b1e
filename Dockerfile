# The stub as an image: see "The image" in docs/ci.md.
FROM python:3.13-slim AS build
COPY . /build
# The wheel and its dependencies with their bytecode: the user of the image could write none. The
# secrets are optional: the configuration of pip, the file of constraints that it names, and the
# certificates of a network that needs them.
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=secret,id=constraint \
    --mount=type=secret,id=ca,target=/etc/ssl/certs/ca-certificates.crt \
    python3 -m pip install -q --no-compile --target /program /build \
    && python3 -m compileall -q --invalidation-mode unchecked-hash /program

FROM python:3.13-slim
LABEL org.opencontainers.image.title="A stub of the Project and Deployment Service" \
      org.opencontainers.image.description="For development and tests of clients; not for production" \
      org.opencontainers.image.version="3.0.0"
COPY --from=build /program /program
ENV PYTHONPATH=/program
# It starts, and warns that `true` sends no request. A start writes the bytecode of Python's own
# modules, which the base has not.
RUN python3 -m deployment_stub -- true
# docker stop kills after 10 seconds.
ENV STUB_HOST=0.0.0.0 STUB_GRACE=8
WORKDIR /work
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s CMD ["python3", "-c", "import os, http.client as h; c = h.HTTPConnection(os.environ['STUB_HOST'], os.environ.get('STUB_PORT') or 8080); c.request('GET', '/_stub/ready'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["python3", "-m", "deployment_stub"]
