// The header of the page, with the connection.

import { html, useRef, useState } from "./preact.js";
import { invalid, plural } from "./parts.js";
import { connect, poll } from "./poll.js";
import { DEFAULT_TOKEN, saveSession, session, parseWorld } from "./session.js";
import { set, state } from "./state.js";
import { read } from "./wire.js";

const STATES = { connecting: "Connecting…", connected: "Connected", gone: "Not connected", rejected: "Not connected" };

/** The list of worlds, with their projects and requests. */
function Worlds() {
  const [known, setKnown] = useState(null);
  const popover = useRef();
  const choose = (name) => {
    popover.current.hidePopover();
    saveSession(session.token, name);
    connect();
  };
  return html`<button type="button" popovertarget="worlds" aria-label="All worlds" onClick=${() => read("/_stub/worlds").then(setKnown)}>▾</button>
    <div id="worlds" popover="auto" ref=${popover}>
      <ul>${known?.worlds.map(({ name, projects, requests }) => html`<li>
        <button type="button" aria-current=${name === session.world ? "true" : null} onClick=${() => choose(name)}>
          <b>${name || "main"}</b> <span class="hint">${plural(projects, "project")}</span> <span class="hint">${plural(requests, "request")}</span>
        </button></li>`)}</ul>
      <p class="hint">${known ? `${known.room.toLocaleString("en")} more worlds are possible.` : "The list needs a connection."}</p>
    </div>`;
}

/** A button with everything unusual, such as waiting faults. It leads to the controls. */
function Active() {
  const { view, isPaused } = state;
  const { faults, clock, grease } = view ?? {};
  const marks = [
    [faults?.count, `⚡ ${faults?.count}`, faults?.count === 1 ? "fault" : "faults"],
    [clock?.frozen, "❄", "frozen"],
    [grease?.axes.length, "≈", "grease"],
    [view && isPaused, "‖", "paused"],
  ].filter(([isOn]) => isOn);
  const open = () => {
    set({ tab: "Controls", selected: null });
    queueMicrotask(() => document.getElementById("tab-Controls")?.focus());
  };
  return marks.length > 0 && html`<button id="active" type="button" onClick=${open}>
    ${marks.map(([, mark, word]) => html` <b title=${word}>${mark} <span>${word}</span></b>`)}
  </button>`;
}

export function Header() {
  const { connection, view } = state;
  const like = view?.like;
  const [world, setWorld] = useState(null); // the typed name
  const [isUnfolded, unfold] = useState(false); // on a small screen
  const isOpen = isUnfolded || connection.kind === "rejected";
  const token = useRef();
  const onSubmit = (event) => {
    event.preventDefault();
    const unchanged = connection.members?.includes("token") ? DEFAULT_TOKEN : session.token;
    const chosen = [token.current.value || unchanged, parseWorld(world ?? session.world)];
    token.current.value = "";
    setWorld(null);
    if (chosen[0] === session.token && chosen[1] === session.world) return poll();
    saveSession(...chosen);
    connect();
  };
  return html`<header>
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"></rect><path d="M9 21l7-11 7 11z"></path></svg>
    <div class="title">
      <h1>Project and Deployment Service</h1>
      <p>Stub at <code>${location.origin}</code>${like && html`, like <code>${like.file}</code>, observed ${like.observed_at}`}</p>
    </div>
    <button id="fold" type="button" aria-controls="connection" aria-expanded=${String(isOpen)} onClick=${() => unfold(!isOpen)}>
      World <b>${session.world || "main"}</b> ${isOpen ? "▴" : "▾"}</button>
    <form id="connection" data-open=${String(isOpen)} novalidate autocomplete="off" onSubmit=${onSubmit}>
      <div class="field">
        <label for="world">World</label>
        <input id="world" ...${invalid(connection, "world", "reason")} type="text" placeholder="main" spellcheck=${false} autocapitalize="off"
          value=${world ?? session.world} onInput=${(event) => setWorld(event.target.value)} />
        <${Worlds} />
      </div>
      <div class="field">
        <label for="token">Token</label>
        <input id="token" ...${invalid(connection, "token", "reason")} ref=${token} type="password" autocomplete="off" placeholder="bearer token" />
      </div>
      <button>Connect</button>
    </form>
    <button id="help" type="button" aria-label="Help" onClick=${() => set({ dialog: "help" })}>?</button>
    <${Active} />
    <p id="status" role="status" data-kind=${connection.kind}>${STATES[connection.kind]}</p>
  </header>`;
}
