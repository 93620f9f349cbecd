# The image of evaljudge: a pod of jobs/kubernetes/rayjob.yaml, or a container on one machine.
#   docker build --target cuda -t evaljudge:0.1.0 .
#   docker build --target cpu -t evaljudge:0.1.0-cpu .
# Ray's head and its workers take the same image. It holds no secret: tokens and keys come from the
# environment, or from the role of the pod. See "The image" in docs/cluster.md.

# One Python for each lock, since a lock is made for one Python.
FROM python:3.11-slim-bookworm AS python-cpu
FROM python:3.12-slim-bookworm AS python-cuda

FROM python-cpu AS build-cpu
ENV VIRTUAL_ENV=/opt/evaljudge UV_NO_CACHE=1 UV_COMPILE_BYTECODE=1
WORKDIR /build
COPY .requirements-uv.txt .requirements-cpu.txt .overrides.txt pyproject.toml README.md ./
COPY .packaging .packaging
RUN python -m venv /opt/uv \
  && /opt/uv/bin/pip install --no-cache-dir --require-hashes -r .requirements-uv.txt
RUN python -m venv --without-pip /opt/evaljudge
# This lock also has what development needs. As a list of constraints it says the version and the
# hashes of each package that is installed, and adds none.
RUN /opt/uv/bin/uv pip install --torch-backend=cpu --constraints .requirements-cpu.txt \
  --overrides .overrides.txt -r pyproject.toml --extra cpu --extra all
COPY evaljudge evaljudge
RUN /opt/uv/bin/uv pip install --no-deps --no-build-isolation .

FROM python-cuda AS build-cuda
ENV VIRTUAL_ENV=/opt/evaljudge UV_NO_CACHE=1 UV_COMPILE_BYTECODE=1
WORKDIR /build
COPY .requirements-uv.txt .requirements-gpu.txt pyproject.toml README.md ./
COPY .packaging .packaging
RUN python -m venv /opt/uv \
  && /opt/uv/bin/pip install --no-cache-dir --require-hashes -r .requirements-uv.txt
RUN python -m venv --without-pip /opt/evaljudge
RUN /opt/uv/bin/uv pip install --no-deps --require-hashes -r .requirements-gpu.txt
COPY evaljudge evaljudge
RUN /opt/uv/bin/uv pip install --no-deps --no-build-isolation .

# libnuma1 is what vLLM's CPU build is linked with; wget is what KubeRay 1.5 looks at pods with.
FROM python-cpu AS cpu
RUN apt-get update \
  && apt-get install -y --no-install-recommends libnuma1 wget \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 1000 --create-home evaljudge
COPY --from=build-cpu /opt/evaljudge /opt/evaljudge
COPY jobs /evaljudge/jobs
ENV PATH=/opt/evaljudge/bin:$PATH \
  RAY_USAGE_STATS_ENABLED=0 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1
WORKDIR /evaljudge
USER 1000
CMD ["evaljudge", "--help"]

# vLLM compiles kernels for the GPU as it starts: with gcc here, and with the CUDA compiler of the
# Python packages. The GPU's driver is the machine's; NVIDIA's container runtime brings it in.
FROM python-cuda AS cuda
RUN apt-get update \
  && apt-get install -y --no-install-recommends gcc g++ libc6-dev libnuma1 wget \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 1000 --create-home evaljudge
COPY --from=build-cuda /opt/evaljudge /opt/evaljudge
COPY jobs /evaljudge/jobs
ENV PATH=/opt/evaljudge/bin:$PATH \
  CUDA_HOME=/opt/evaljudge/lib/python3.12/site-packages/nvidia/cu13 \
  NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility \
  RAY_USAGE_STATS_ENABLED=0 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1
WORKDIR /evaljudge
USER 1000
CMD ["evaljudge", "--help"]
