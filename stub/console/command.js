// The curl commands.

import { buildShellCredential } from "./session.js";

const MAX_BODY = 4096; // bytes of a body in the journal
const UNKNOWN = /\*{3}|\uFFFD/; // a masked secret, or bytes that are not text
const ODD = /[\p{C}\p{DI}\p{Zl}\p{Zp}]/u; // invisible characters

// Fields that curl or a page sends by itself, and fields that a browser or a library adds.
const OWN = /^(authorization|host|content-length|connection|transfer-encoding|expect)$/i;
const ADDED = /^(user-agent|accept-encoding|accept-language|referer|sec-.*|cache-control|pragma|dnt|priority)$/i;

const utf8 = new TextEncoder();
export const countBytes = (text) => utf8.encode(text).length;

/** Whether the journal has only the beginning of a body with this number of bytes. */
export const isCut = (size) => size > MAX_BODY;

/** Quote a text for sh, bash, zsh, ksh and fish. Between single quotes, fish reads backslashes. */
const quote = (text) =>
  /^[\w./-][\w@%+=:,./-]*$/.test(text) ? text
    : `'${text.replace(/\\(?=['\\]|$)|'/g, (char) => (char === "'" ? `'"'"'` : `'\\\\'`))}'`;

/** Build the printf that writes any text. */
const printf = (text) => `printf '${Array.from(utf8.encode(text), escapeByte).join("").replace(/^-/, "\\055")}'`;
const escapeByte = (byte) =>
  byte >= 0x20 && byte < 0x7f && !/['\\%!]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte)
    : `\\${byte.toString(8).padStart(3, "0")}`;

const authorization = () => `-H "Authorization: ${buildShellCredential()}"`;

/** Build the command of an empty list: `parts` are words for a shell. */
export const buildCommand = (path, ...parts) =>
  ["curl", authorization(), ...parts, location.origin + path].join(" ");

/**
 * Build a curl command that repeats a request, and say how it differs. Return also the URL and the
 * headers for a replay, and the reason if a page cannot replay it.
 */
export function buildCurl({ method, path, query, headers, body, code }) {
  const url = `${location.origin}/${encodePath(path.slice(1))}${query && `?${encodeRest(query)}`}`;
  const size = Number(headers["Content-Length"] ?? 0);
  const fields = Object.entries(headers).filter(([name]) => !OWN.test(name) && !ADDED.test(name));
  const { kept = [], missing = [] } = Object.groupBy(fields, ([, value]) =>
    /^[ -~]+$/.test(value) && !UNKNOWN.test(value) ? "kept" : "missing");
  const differences = [];
  const lost = []; // parts that the journal does not have
  const parts = ["curl"];
  if (method === "HEAD") parts.push("--head");
  else if (method !== "GET" || size) parts.push(`-X ${quote(method)}`);
  if (/\/\.{1,2}(\/|$)/.test(path)) parts.push("--path-as-is");
  if (headers.Authorization) parts.push(authorization());
  parts.push(...kept.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`));
  if (headers.Authorization && /^token_/.test(code)) differences.push("it has your own token");
  if (missing.length) differences.push(`without the header${missing.length > 1 ? "s" : ""} ${missing.map(([name]) => name).join(", ")}`);
  if (encodeRest(query) !== query) differences.push("the query is percent-encoded");
  if (size && method !== "HEAD") {
    if (!headers["Content-Type"]) parts.push("-H 'Content-Type:'");
    if (isCut(size)) {
      lost.push("the body is cut: save the whole body in the file body");
      parts.push("--data-binary @body");
    } else if (ODD.test(body)) {
      parts[0] = `${printf(body)} | curl`;
      parts.push("--data-binary @-");
    } else parts.push(`--data-raw ${quote(body)}`);
  }
  const isOther = !isCut(size) && countBytes(body) !== size; // The journal leaves out zeros.
  for (const [name, text] of Object.entries({ method, path, query, body })) {
    if (UNKNOWN.test(text) || (name === "body" && isOther)) lost.push(`the ${name} has masked secrets, or bytes that are not text`);
  }
  const all = [...differences, ...lost];
  const differs = all.length ? `Differs from the original: ${all.join("; ")}.` : "";
  const unrepeatable = lost[0]?.split(":")[0] ?? "";
  return { command: [...parts, quote(url)].join(" \\\n  "), differs, url, headers: Object.fromEntries(kept), unrepeatable };
}

/** Encode a path of the journal, in which %2F and %25 are still encoded. */
const encodePath = (path) => encodeRest(path.replace(/%(?!2f|25)/gi, "%25")).replaceAll("?", "%3F");

/** Encode the characters that a URL cannot contain, and those with a meaning for curl or a shell. */
const encodeRest = (text) => text.toWellFormed().replace(/[^\w!$&()*+,\-./:;=?@%~]/gu, encodeURIComponent);
