// What the page knows, and the one function that changes it.

/** What is known of a world before the server has responded. */
export const nothing = () => ({
  view: null, // the last response of the poll
  loaded: { rows: [], last: null }, // entries of the journal, oldest first, up to the number `last`
  selected: null, // an entry, {number} of one that is gone, or {deployment}
});

export const state = {
  ...nothing(),
  connection: { kind: "connecting" }, // or "connected", "gone", "rejected"
  epoch: 0, // counts the connections: an error of an earlier one is over
  filter: { q: "", chip: null }, // words, and {label} with one of {words}, {finding}, {operation, status}
  isPaused: false,
  tab: "Controls",
  part: "Response", // of the inspector
  dialog: null, // "reset" or "help"
  announced: "",
  announcedAt: 0,
};

let draw = () => {};
let isDue = false;

export function onChange(callback) {
  draw = callback;
}

/** Change what is known, and show it once, after all that changes it now. */
export function set(changes) {
  Object.assign(state, changes);
  if (isDue) return;
  isDue = true;
  queueMicrotask(() => {
    isDue = false;
    draw();
  });
}

/** Tell those who cannot see what has changed. A text that is said again has a space more. */
export const announce = (text) => set({ announced: text === state.announced ? `${text}\u00a0` : text, announcedAt: Date.now() });
