"""What a COMMAND does, and what has become of a process."""

import sys
from pathlib import Path

# A client that starts quickly: http.client would take three times as long as the rest.
BEGIN = """
import json, os, signal, socket, sys
name, folder = map(os.environ.get, ('STUB_PROBE_RUN', 'FOLDER'))
host, port = os.environ['STUB_URL'].removeprefix('http://').split(':')
def call(path):
  fields = [f'Host: {host}', f"Authorization: Bearer {os.environ['STUB_TOKEN']}"]
  head = [f'GET {path} HTTP/1.1', *fields, 'Connection: close', '', '']
  with socket.create_connection((host, port)) as c:
    c.sendall('\\r\\n'.join(head).encode())
    head, _, text = c.makefile('rb').read().decode().partition('\\r\\n\\r\\n')
  return json.loads(text or 'null')
def note(file, *what):
  print(*what, file=open(folder + '/' + file, 'a'))
"""


def script(code: str) -> list[str]:
    """A COMMAND that begins as a client does, and goes on with `code`."""
    return [sys.executable, "-I", "-S", "-c", BEGIN + code]


def has_ended(pid: str) -> bool:
    """Whether a process has ended, or is a zombie that nobody has asked for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"
