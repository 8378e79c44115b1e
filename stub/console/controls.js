// The controls: clock, grease, faults, and the world as a whole.

import { html } from "./preact.js";
import { Faults } from "./faults.js";
import { dateAndTime, Dialog, Field, plural, Problem, readForm, useAttempt, useWanted } from "./parts.js";
import { session } from "./session.js";
import { Term } from "./words.js";
import { announce, set, state } from "./state.js";
import { send } from "./wire.js";

export const Controls = () => html`<div class="stack">
  <${Clock} /><${World} /><${Grease} /><${Faults} />
</div>`;

function Clock() {
  const { now, ahead, frozen, tick } = state.view.clock;
  const [error, attempted, forget] = useAttempt();
  const turn = (said, change) => attempted(said, "POST", "/_stub/clock", change);
  const onSubmit = async (event) => {
    event.preventDefault();
    const change = readForm(event.target);
    if (change.now) change.frozen = true;
    if (await turn("The clock is set", change)) event.target.reset();
  };
  const facts = [ahead && `${ahead.toLocaleString("en")} s ahead`, frozen && "stands still", tick && `${tick} s at each read of a deployment`].filter(Boolean);
  return html`<h3>Clock</h3>
    <p class="clock"><time datetime=${now}>${dateAndTime(now)} UTC</time> <span class="hint">${facts.join(", ") || "real time"}</span></p>
    <div class="bar">
      <button type="button" onClick=${() => turn("The clock is advanced by 10 seconds", { advance: 10 })}>Advance 10 seconds</button>
      <button type="button" onClick=${() => turn("The clock is advanced by 1 minute", { advance: 60 })}>Advance 1 minute</button>
      <button type="button" aria-pressed=${String(frozen)} onClick=${() => turn(frozen ? "The clock runs" : "The clock stands still", { frozen: !frozen })}>
        ${frozen ? "Frozen" : "Freeze"}</button>
    </div>
    <form id="clock" class="fields" novalidate autocomplete="off" onSubmit=${onSubmit} onInput=${forget}>
      <${Field} form="clock" name="tick" label="Tick (s)" error=${error} placeholder=${String(tick)} />
      <${Field} form="clock" name="now" label="Freeze at" error=${error} placeholder="2026-01-01T00:00:00Z" isText=${true} />
      <button>Set</button>
    </form>
    <${Problem} error=${error} id="clock-error" />`;
}

function Grease() {
  const { grease } = state.view;
  const [error, attempted] = useAttempt();
  const [isOn, change] = useWanted(grease.axes.length > 0, (wanted) => {
    const { axes, parts } = wanted ? grease.default : { axes: [] };
    return attempted(`Grease is ${wanted ? "on" : "off"}`, "PUT", "/_stub/grease", { axes, parts });
  });
  return html`<h3>Vary the responses</h3>
    <p><label class="switch">
      <input type="checkbox" role="switch" checked=${isOn} onChange=${() => change(!isOn)} aria-describedby="grease-hint" /> Grease
    </label></p>
    <${Problem} error=${error} />
    <p id="grease-hint" class="hint"><${Term} name="grease" /> varies the parts of responses that nobody promised.</p>`;
}

/** Save the document at a path as a file. */
async function download(path, name) {
  const response = await send("GET", path).catch(() => null);
  if (!response?.ok) return announce(`The ${name} is not exported: there is no connection`);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = `${session.world || "main"}-${name}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}

const World = () => html`<h3>World</h3>
  <div class="bar">
    <button type="button" onClick=${() => download("/_stub/state", "state")}>Export state</button>
    <button type="button" onClick=${() => download("/_stub/requests", "journal")}>Export journal</button>
    <hr /><button class="danger" type="button" onClick=${() => set({ dialog: "reset" })}>Reset</button>
  </div>`;

export function Reset() {
  const { world, projects, requests, faults } = state.view;
  const [error, attempted] = useAttempt();
  const close = () => set({ dialog: null });
  const reset = async () => {
    if (await attempted("The world is reset", "POST", "/_stub/reset")) close();
  };
  return html`<${Dialog} title="Reset the world ${world || "main"}?" onClose=${close}>
    <p>It has ${plural(projects.count, "project")}, ${plural(requests.last - requests.first + 1, "request")}, ${plural(faults.count, "fault")}.
      A reset restores the world as at the start of the program, with its deployments, coverage and clock.</p>
    <div class="bar end">
      <button type="button" onClick=${close}>Cancel</button>
      <button class="danger" type="button" onClick=${reset}>Reset</button>
    </div>
    <${Problem} error=${error} />
  <//>`;
}
