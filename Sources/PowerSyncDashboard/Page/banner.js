// The worst thing that is true now, with the panel that has more of it.

// A source that is this many seconds ahead of its clients is worth a line.
const shownLag = 60;

let config;

// What is wrong, the worst first: what loses or keeps back rows, then what may become that.
function* troubles(snapshot, config) {
  const { replication, storage } = snapshot;
  for (const problem of storage.problems) yield ["bad", problem, "storage"];
  if (replication.streams.some((stream) => stream.state === "ERRORED")) {
    yield ["bad", "The source has lost its history: clients get nothing new until it is copied again.", "replication"];
  }
  if (replication.error !== undefined) {
    yield ["bad", `Replication fails since ${clockTime(replication.errorAt)}: ${replication.error}`, "replication"];
  }
  if (config?.rejected_sync_rules) {
    yield ["bad", "A sync config was refused: clients are served the one before.", "config"];
  }
  const served = replication.streams.some((stream) => ["ACTIVE", "ERRORED"].includes(stream.state));
  const copy = replication.streams.find((stream) => stream.copy)?.copy;
  if (!replication.streams.length) yield ["bad", "No sync config is deployed: clients get nothing.", "config"];
  else if (!served) {
    const rows = copy ? `, ${counted(copy.rows, "row")} of ${copy.table} so far${copiedShare(copy)}` : "";
    yield ["warn", `The source is copied for the first time${rows}: clients get nothing until that is done.`, "replication"];
  }
  if (replication.lagSeconds >= shownLag) {
    yield ["warn", `Clients have what the source had ${duration(replication.lagSeconds)} ago.`, "replication"];
  }
}

function showBanner() {
  const [kind, text, panel] = troubles(snapshot, config).next().value ?? [];
  const banner = $("banner");
  banner.hidden = kind === undefined;
  banner.className = kind ?? "";
  // A screen reader says it again only when it changes.
  const link = $("banner-link");
  setText(link, text ?? "");
  link.href = `#${panel ?? "main"}`;
}
