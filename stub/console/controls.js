// The controls: clock, grease, faults, and the world as a whole.

import { html, useEffect, useRef } from "./preact.js";
import { Faults } from "./faults.js";
import { dateAndTime, Dialog, plural, Problem, useAttempt, useWanted } from "./parts.js";
import { session } from "./session.js";
import { Term } from "./words.js";
import { announce, set, state } from "./state.js";
import { send } from "./wire.js";

export const Controls = () => html`<div class="stack">
  <${Clock} /><${World} /><${Faults} /><${Grease} />
</div>`;

function Clock() {
  const { now, ahead, frozen, tick } = state.view.clock;
  const [error, attempted] = useAttempt();
  const advance = async (seconds, name) => {
    if (await attempted("POST", "/_stub/clock", { advance: seconds })) announce(`The clock is advanced by ${name}`);
  };
  const freeze = async () => {
    if (await attempted("POST", "/_stub/clock", { frozen: !frozen })) announce(frozen ? "The clock goes on" : "The clock stands still");
  };
  const facts = [ahead && `${ahead.toLocaleString("en")} s ahead`, frozen && "stands still", tick && `${tick} s at each read of a deployment`].filter(Boolean);
  return html`<h3>Clock</h3>
    <${Problem} error=${error} />
    <p class="clock"><time datetime=${now}>${dateAndTime(now)} UTC</time> <span class="hint">${facts.join(", ") || "real time"}</span></p>
    <div class="bar">
      <button type="button" onClick=${() => advance(10, "10 seconds")}>Advance 10 seconds</button>
      <button type="button" onClick=${() => advance(60, "1 minute")}>Advance 1 minute</button>
      <button type="button" aria-pressed=${String(frozen)} onClick=${freeze}>${frozen ? "Frozen" : "Freeze"}</button>
    </div>`;
}

function Grease() {
  const { grease } = state.view;
  const [error, attempted] = useAttempt();
  const [isOn, change] = useWanted(grease.axes.length > 0, async (wanted) => {
    const { axes, parts } = wanted ? grease.default : { axes: [] };
    if (await attempted("PUT", "/_stub/grease", { axes, parts })) announce(`Grease is ${wanted ? "on" : "off"}`);
  });
  const details = useRef();
  useEffect(() => isOn && (details.current.open = true), [isOn]);
  return html`<details class="vary" ref=${details}><summary><h3>Vary the responses</h3></summary>
    <p><label class="switch">
      <input type="checkbox" role="switch" checked=${isOn} onChange=${() => change(!isOn)} aria-describedby="grease-hint" /> Grease
    </label></p>
    <${Problem} error=${error} />
    <p id="grease-hint" class="hint"><${Term} name="grease" /> varies what nobody promised in the responses.</p>
  </details>`;
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
    if (!(await attempted("POST", "/_stub/reset"))) return;
    close();
    announce("The world is as at the start");
  };
  return html`<${Dialog} title="Reset the world ${world || "main"}?" onClose=${close}>
    <p>It has ${plural(projects.count, "project")}, ${plural(requests.last - requests.first + 1, "request")}, ${plural(faults.count, "fault")}.
      They, the deployments, coverage and clock return to the start of the program.</p>
    <div class="bar end">
      <button type="button" onClick=${close}>Cancel</button>
      <button class="danger" type="button" onClick=${reset}>Reset</button>
    </div>
    <${Problem} error=${error} />
  <//>`;
}
