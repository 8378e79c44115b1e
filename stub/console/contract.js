// The contract: the parts that the interface promises, those that this stub chose, and their use by the client.

import { html, useEffect, useState } from "./preact.js";
import { Finding, Met } from "./coverage.js";
import { marked } from "./parts.js";
import { state } from "./state.js";
import { read } from "./wire.js";

export function Contract() {
  const [contract, setContract] = useState(null);
  useEffect(() => read("/openapi.json").then(setContract), [state.epoch]);
  if (!contract) return html`<div class="stack"><p class="hint">Loading…</p></div>`;
  const operations = Object.entries(contract.paths).flatMap(([path, item]) =>
    Object.entries(item).filter(([, each]) => each.operationId).map(([method, each]) => ({ path, method: method.toUpperCase(), operation: each })),
  );
  return html`<div class="stack">
    <p class="hint"><b class="fixed">fixed</b> the interface promises it · <b class="chosen">chosen</b> this stub decided: the real service may differ · <b class="observed">observed</b> the service did it (--like) ·
      § a section of the interface's document. All of it is in <a href="/openapi.json">/openapi.json</a>.</p>
    ${operations.map((each, at) => html`<${Operation} contract=${contract} ...${each} open=${!at} />`)}
  </div>`;
}

function Operation({ contract, path, method, operation, open }) {
  const counts = state.view.coverage.operations[operation.operationId] ?? {};
  const used = state.view.coverage.unpromised.first.filter(({ what }) => what.startsWith(`${operation.operationId}: `));
  const resolve = (part) => (part?.$ref ? resolve(part.$ref.slice(2).split("/").reduce((found, name) => found[name], contract)) : part);
  const statuses = Object.keys(operation.responses);
  return html`<details open=${open}>
    <summary><b class="mono">${method} ${path}</b> <span class="hint">${statuses.filter((each) => counts[each]).length} of ${statuses.length} met</span>
    </summary>
    <ul class="parts">
      <${Part} name=${operation.operationId} part=${operation} />
      ${(operation.parameters ?? []).map((each) => html`<${Part} name="${resolve(each).in} ${resolve(each).name}" part=${resolve(each)} />`)}
      ${operation.requestBody && html`<${Part} name="body" part=${operation.requestBody}>${members(resolve, operation.requestBody)}<//>`}
      ${Object.entries(operation.responses).map(([status, response]) => html`<${Part} name=${status} part=${resolve(response)}
        met=${html`<${Met} name=${operation.operationId} status=${status} count=${counts[status] ?? 0} />`}>${status < 300 && members(resolve, resolve(response))}<//>`)}
      ${used.map((each) => html`<li class="unpromised"><strong>${marked("unpromised")}</strong><${Finding} kind="unpromised" ...${each} /></li>`)}
    </ul>
  </details>`;
}

/** The members of the JSON object in a body. The members of a list are those of its items. */
function members(resolve, { content = {} }) {
  const walk = (schema, prefix, depth) =>
    Object.entries(schema?.properties ?? {}).flatMap(([name, part]) => {
      const found = resolve(part);
      const inner = found.type === "array" ? resolve(found.items) : found;
      return [html`<${Part} name=${prefix + name} part=${part["x-origin"] ? part : found} />`, ...(depth ? walk(inner, `${prefix}${name}.`, depth - 1) : [])];
    });
  const [media] = Object.values(content);
  const parts = walk(resolve(media?.schema), "", 2);
  return parts.length > 0 && html`<ul>${parts}</ul>`;
}

function Part({ name, part, met, children }) {
  const origin = part["x-origin"] ?? {};
  const kind = ["fixed", "chosen", "observed"].find((each) => origin[each]);
  const said = [origin[kind], origin.confirmed && `confirmed ${origin.confirmed}`].filter(Boolean).join("; ");
  return html`<li><b class="mono">${name}</b>
    ${kind && html`<b class=${kind}>${kind}</b>`}
    ${met} <span class="hint">${said}</span>${children}</li>`;
}
