// The state of the page, and the function that changes it.

/** Return the state of a world before the server has responded. */
export const nothing = () => ({
  view: null, // the last response of the poll
  loaded: { rows: [], last: null }, // entries of the journal, oldest first, up to the number `last`
  selected: null, // an entry, {number} of a lost entry, or {deployment}
});

export const state = {
  ...nothing(),
  connection: { kind: "connecting" }, // or "connected", "gone", "rejected"
  epoch: 0, // number of connections: errors of an earlier connection disappear
  filter: { q: "", chip: null }, // words, and {label} with one of {words}, {finding}, {operation, status}
  isPaused: false,
  tab: "Controls",
  part: "Response", // tab of the inspector
  dialog: null, // "reset" or "help"
  announced: "",
  announcedAt: 0,
};

let draw = () => {};
let isDue = false;

export function onChange(callback) {
  draw = callback;
}

/** Change the state, and draw the page once after all current changes. */
export function set(changes) {
  Object.assign(state, changes);
  if (isDue) return;
  isDue = true;
  queueMicrotask(() => {
    isDue = false;
    draw();
  });
}

/** Announce a text for screen readers. A repeated text gets another space, or it would not be read. */
export const announce = (text) => set({ announced: text === state.announced ? `${text}\u00a0` : text, announcedAt: Date.now() });
