const activities = {
  opening: ["", "opening"],
  reading: ["", "reads"],
  sending: ["", "sends"],
  waitingForCheckpoint: ["good", "up to date"],
  waitingForSlot: ["warn", "waits for a slot to read"],
  waitingForMemory: ["warn", "waits for memory"],
  waitingForClient: ["bad", "waits for the client to read"],
};
const states = {
  PROCESSING: badge("warn", "being copied"),
  ACTIVE: badge("good", "active"),
  ERRORED: badge("bad", "lost its history"),
  STOP: badge("", "being deleted"),
};

let snapshot;
let before;

const streamTable = new Table($("streams"), "Replication streams", [
  ["Stream", undefined, (stream) => stream.id],
  ["State", undefined, (stream) => states[stream.state] ?? stream.state],
  ["Version", "name", (stream) => stream.versionLabel ?? ""],
  ["Tables", undefined, (stream) => `${stream.copiedTables} of ${stream.tables} copied`],
  ["Checkpoint", undefined, (stream) => stream.checkpoint ?? "none"],
  ["Made", undefined, (stream) => stream.checkpointedAt === undefined
    ? "" : `${duration(snapshot.time - stream.checkpointedAt)} ago`],
  ["Position of the source", "name", (stream) => stream.position ?? ""],
  ["Slot", "name", (stream) => stream.slot],
], "No sync config is deployed: clients get PSYNC_S2302.");

const clientTable = new Table($("client-table"), "Connected clients, those that need attention first", [
  ["User", "name", (client) => client.user],
  ["Client", "name", (client) => client.client ?? ""],
  ["Does", undefined, (client) => badge(...(activities[client.activity] ?? ["", client.activity]))],
  ["Since", "number", (client) => duration(snapshot.time - client.activeSince), (client) => -client.activeSince],
  ["Progress", undefined, progress],
  ["Buckets", "number", (client) => count(client.buckets), (client) => client.buckets],
  ["Sent", "number", (client) => `${counted(client.operations, "op")}, ${bytes(client.bytes)}`, (client) => client.bytes],
  ["Connected", "number", (client) => duration(snapshot.time - client.openedAt), (client) => -client.openedAt],
  ["Program", undefined, (client) => [client.agent, client.format].filter(Boolean).join(", ")],
], "Nobody is connected.", true);

const errorTable = new Table($("error-table"), "Errors and warnings of the log, those that were logged last first", [
  ["What", "text", (error) => [error.message, error.details].filter(Boolean).join(": ")],
  ["Where", undefined, (error) => [
    error.table, error.stream && `stream ${error.stream}`, error.user && `user ${error.user}`].filter(Boolean).join(", ")],
  ["Last", "number", (error) => `${duration(snapshot.time - error.lastAt)} ago`, (error) => error.lastAt],
  ["Level", undefined, (error) => badge(error.level === "error" ? "bad" : "warn", error.level)],
  ["What to do", "text", (error) => error.remedy ?? (error.code ? `look up ${error.code}` : "")],
  ["Times", "number", (error) => count(error.count), (error) => error.count],
  ["First", "number", (error) => clockTime(error.firstAt), (error) => error.firstAt],
], "Nothing was logged at these levels since the process began.", true);

function progress(client) {
  if (client.checkpoint === undefined) return "";
  if (client.bucketsLeft > 0) {
    const done = client.downloads - client.bucketsLeft;
    return `${count(done)} of ${counted(client.downloads, "bucket")} of checkpoint ${client.checkpoint}`;
  }
  return client.completed === client.checkpoint ? `has checkpoint ${client.checkpoint}`
    : `finishes checkpoint ${client.checkpoint}`;
}

function show(next) {
  before = snapshot;
  snapshot = next;
  showReplication(next.replication);
  showClients(next.clients);
  showStorage(next.storage, next.clients);
  errorTable.show(next.errors);
  showBanner();
  const seconds = before ? next.time - before.time : 0;
  const rate = (now, then) => seconds > 0 && seconds < 10 ? Math.max(0, now - then) / seconds : NaN;
  plots.lag.add(next.time, next.replication.lagSeconds ?? NaN);
  plots.rows.add(next.time, rate(next.replication.rows, before?.replication.rows));
  plots.sent.add(next.time, rate(next.clients.operations, before?.clients.operations));
  plots.streams.add(next.time, next.clients.streams);
}

function showReplication(replication) {
  const error = $("replication-error");
  error.hidden = replication.error === undefined;
  setText(error, replication.error === undefined ? ""
    : `${clockTime(replication.errorAt)}: ${replication.error}`);
  showFacts($("replication-facts"), [
    ["Source", replication.source],
    ["Lag", replication.lagSeconds === undefined ? "unknown" : duration(replication.lagSeconds)],
    ["Rows", count(replication.rows), bytes(replication.bytes)],
    ["Transactions", count(replication.transactions)],
    ...(replication.openTransaction
      ? [["Large transaction", count(replication.openTransaction.changes),
        `${noun(replication.openTransaction.changes, "change")} so far`]] : []),
    ...replication.streams.filter((stream) => stream.copy).map(({ copy }) =>
      ["Copying", count(copy.rows),
        `${noun(copy.rows, "row")} of ${copy.table} so far${copiedShare(copy)}, table ${copy.copiedTables + 1} of ${copy.tables}`]),
    ...Object.entries(replication.rowsWithoutID ?? {})
      .map(([table, number]) => ["Without an id", count(number), `of ${table}, not sent`]),
  ]);
  streamTable.show(replication.streams);
}

function showClients(clients) {
  const waits = Object.entries(clients.activities)
    .map(([name, number]) => [activities[name]?.[1] ?? name, count(number)]).sort();
  showFacts($("client-facts"), [
    ["Open streams", count(clients.streams)],
    ["Users", count(clients.users)],
    ["Sent", bytes(clients.bytes), counted(clients.operations, "operation")],
    ...waits,
  ]);
  if (clientPages.offset > 0 || $("client-search").value) return;
  clientTable.show(clients.list);
  clientPages.show(clients.streams, clients.list.length);
}

function showStorage(storage, clients) {
  const sizes = storage.sizes;
  const size = (number) => sizes ? bytes(number) : "being measured";
  showFacts($("storage-facts"), [
    ["Files", bytes(storage.bytes)],
    ["Operations", size(sizes?.operations)],
    ["Parameter indexes", size(sizes?.parameters)],
    ["Rows of the source", size(sizes?.rows)],
    ["Buckets", sizes ? count(sizes.buckets) : "being measured"],
    ["Read for clients", bytes(clients.heldBytes), "not sent yet"],
  ]);
  showFindings($("storage-problems"), storage.problems.map((message) => ({ level: "fatal", message })));
  setText($("compaction"), compaction(storage.compaction));
}

function compaction(run) {
  if (!run) return "Another process compacts: one that replicates.";
  if (run.isRunning) return "Compaction is running.";
  if (run.endedAt === undefined) return "This process has not compacted yet: it does so 10 minutes after its start.";
  const when = `Compacted ${duration(snapshot.time - run.endedAt)} ago`;
  return run.error !== undefined ? `${when}, which failed: ${run.error}`
    : `${when}: ${counted(run.moved, "operation")} replaced, ${count(run.cleared)} removed.`;
}

function showFindings(list, findings) {
  list.replaceChildren(...findings.map(({ level, message }) => make("li", {},
    make("span", { class: `badge ${level === "fatal" ? "bad" : "warn"}` }, level === "fatal" ? "error" : "warning"),
    message)));
}
