// The words of the house, which explain themselves, and the keys.

import { html, useState } from "./preact.js";
import { Dialog, Pairs } from "./parts.js";
import { set } from "./state.js";

const WORDS = {
  world: "The data, clock, faults, journal and coverage that one token name selects: dev-token.job-42 has the world job-42. Tests in different worlds do not see each other.",
  response: "A status that the contract declares for an operation. It is met when a request of the operation got it.",
  unpromised: "What a request depended on although the interface does not promise it, such as a query parameter.",
  violation: "A rule of the interface that a request broke: no Authorization header, another form of it, or no such operation.",
  fault: "An error, a delay or a cut that the next matching requests get, in place of the response or on top of it.",
  journal: "The requests of a world that the server keeps, with their responses.",
  fixed: "The interface promises this part of the contract; § is a section of its document.",
  chosen: "The interface is silent, and this stub chose: the real service may differ.",
  observed: "The real service was seen to do this, on the day that is named.",
  grease: "Variation on purpose of what nobody promised, such as unknown members, so that a client cannot come to depend on it.",
};
const KEYS = {
  "/": "to the filter",
  p: "pause, or go on",
  "?": "this help",
  "↑ ↓": "through the requests",
  Enter: "open the request",
  Escape: "close",
};

/** A word that explains itself where it stands: pointed at or focused; Escape hides it again. */
export function Term({ name, children }) {
  const [isHidden, setHidden] = useState(false);
  const show = () => setHidden(false);
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || isHidden) return;
    event.stopPropagation();
    setHidden(true);
  };
  return html`<span class="term" data-hidden=${isHidden} onPointerEnter=${show} onfocusin=${show} onKeyDown=${onKeyDown}>
    <a href="#help" aria-describedby="word-${name}">${children ?? name}</a>
    <span class="tip" role="tooltip" id="word-${name}">${WORDS[name]}</span>
  </span>`;
}

export function Help() {
  const close = () => set({ dialog: null });
  return html`<${Dialog} title="Help" onClose=${close}>
    <h3>Words</h3><${Pairs} of=${Object.entries(WORDS)} />
    <h3>Keys</h3><dl>${Object.entries(KEYS).map(([keys, what]) => html`<div>
      <dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${what}</dd>
    </div>`)}</dl>
    <p>The contract is <a href="/openapi.json">/openapi.json</a>, that of the controls <a href="/_stub/openapi.json">/_stub/openapi.json</a>.</p>
    <div class="bar end"><button type="button" onClick=${close}>Close help</button></div>
  <//>`;
}
