// The coverage: the responses that the client met, and the findings.

import { html } from "./preact.js";
import { Empty, marked, visible } from "./parts.js";
import { showOnly } from "./search.js";
import { state } from "./state.js";
import { Term } from "./words.js";

export function Coverage() {
  const { operations, met, of, unpromised, violations } = state.view.coverage;
  const names = Object.keys(operations);
  const statuses = [...new Set(names.flatMap((name) => Object.keys(operations[name])))].sort();
  const groups = Object.groupBy(statuses, (status) => (status === "other" ? status : `${status[0]}xx`));
  return html`<div class="stack">
    <p>${met} of ${of} <${Term} name="response">responses<//> met</p>
    <progress max=${of} value=${met} aria-label="Coverage"></progress>
    <p class="hint">✓ met (count) · ○ not met · – not declared</p>
    <table id="matrix" aria-label="Responses">
      <thead><tr><th scope="col">Status</th>${names.map((name) => html`<th scope="col">${breakName(name)}</th>`)}</tr></thead>
      ${Object.entries(groups).map(([group, members]) => html`<tbody>
        ${group !== "other" && html`<tr><th scope="rowgroup" colspan=${1 + names.length}>${group}</th></tr>`}
        ${members.map((status) => html`<tr>
          <th scope="row">${status}</th>
          ${names.map((name) => html`<td><${Met} name=${name} status=${status} count=${operations[name][status]} /></td>`)}
        </tr>`)}
      </tbody>`)}
    </table>
    <p class="hint">△ <${Term} name="unpromised" />: no document promises it<br />✕ <${Term} name="violation" />: it breaks the interface</p>
    <ul id="findings">
      ${found("unpromised", unpromised)}${found("violation", violations)}
    </ul>
    ${!met && html`<${Empty} text="No response is met yet. Run your client, or send this request:"
      of=${["/v1/projects", '-H "Prefer: code=503"']} />`}
  </div>`;
}

/** A name in camel case. A line may break between its words. */
const breakName = (name) => name.split(/(?=[A-Z])/).map((word) => html`<wbr />${word}`);

/** The number of responses with a status. A click selects their requests. */
export function Met({ name, status, count }) {
  if (!count && (count === undefined || status === "other")) return html`<span class="undeclared">–</span>`;
  if (!count) return html`<span class="unmet" aria-label="not met" role="img">○</span>`;
  const text = `✓ ${count.toLocaleString("en")}`;
  if (status === "other") return html`<span class="met">${text}</span>`;
  return html`<button class="met" type="button" aria-label="${text}: the requests of ${name} with ${status}"
    onClick=${() => showOnly(`${name} ${status}`, { operation: name, status })}>${text}</button>`;
}

/** A finding without its operation, and its count. A click selects its requests. */
export const Finding = ({ kind, what, count }) => html`<button class="finding" type="button" onClick=${() => showOnly(what, { finding: what })}
  aria-label="${kind}: ${visible(what)} ${count.toLocaleString("en")}×">
  <span>${visible(what.slice(what.indexOf(": ") + 2))}</span><span>${count.toLocaleString("en")}×</span></button>`;

const found = (kind, { count, first }) => html`
  ${Object.entries(Object.groupBy(first, ({ what }) => what.split(": ")[0])).map(([operation, members]) =>
    html`<li class=${kind}><strong>${marked(kind)}: ${operation}</strong>${members.map((each) => Finding({ kind, ...each }))}</li>`)}
  ${count > first.length && html`<li class=${kind}>${marked(kind)}: ${count - first.length} more</li>`}`;
