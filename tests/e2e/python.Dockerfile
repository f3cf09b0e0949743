# Python packages in an environment of their own, compiled to byte code as pip does it.
ARG BASE
FROM ${BASE}
ARG PIP_NO_INDEX
ARG PIP_FIND_LINKS
COPY wheels/ /tmp/wheels/
COPY requirements.txt /tmp/
RUN python3 -m venv /opt/venv \
 && /opt/venv/bin/pip install --quiet --requirement /tmp/requirements.txt
ENV PATH=/opt/venv/bin:$PATH
