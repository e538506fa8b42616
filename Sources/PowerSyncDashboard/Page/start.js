let connection;
let isLive = false;
let heardAt = 0;

// Whoever develops gets the key of the process behind the address, which no request has; nor shall the history.
function takeKey() {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (!key) return false;
  sessionStorage.setItem(tokenKey, key);
  history.replaceState(null, "", location.pathname + location.search);
  return true;
}

function showState(kind, text) {
  $("state").className = kind;
  setText($("state"), text);
}

function showPanels(isKnown) {
  $("panels").hidden = !isKnown;
  $("login").hidden = isKnown;
  $("leave").hidden = !sessionStorage.getItem(tokenKey);
}

function signOut() {
  const hadToken = sessionStorage.getItem(tokenKey) !== null;
  sessionStorage.removeItem(tokenKey);
  connection?.abort();
  isLive = false;
  snapshot = before = undefined;
  showPanels(false);
  showState("", "Not signed in");
  setText($("login-error"), hadToken ? "The service does not know this token." : "");
  $("token").focus();
}

// Server-sent events by fetch: EventSource sends no headers, and a token in an address ends up in logs.
async function follow(signal) {
  const response = await request("events", { signal });
  showPanels(true);
  heardAt = Date.now();
  isLive = true;
  loadBuckets();
  loadUsage();
  loadRecent();
  loadHistory();
  loadService();
  loadConfig();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (true) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) hear(JSON.parse(event.slice("data: ".length)));
  }
}

function hear(event) {
  heardAt = Date.now();
  if (event.error) return showState("bad", event.error);
  showState("good", "Live");
  show(event);
}

async function connect() {
  connection?.abort();
  const mine = connection = new AbortController();
  while (!mine.signal.aborted) {
    let problem = "The service does not answer";
    try {
      await follow(mine.signal);
    } catch (error) {
      if (mine.signal.aborted) return;
      if (error.status === 401) return signOut();
      if (error instanceof RequestError) problem = error.message;
      else if (!(error instanceof TypeError)) console.error(error);
    }
    if (mine.signal.aborted) return;
    isLive = false;
    showState("bad", `${problem}; trying again`);
    await new Promise((resume) => setTimeout(resume, 2000));
  }
}

$("login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(tokenKey, $("token").value);
  $("token").value = "";
  setText($("login-error"), "");
  connect();
});
$("leave").addEventListener("click", () => {
  sessionStorage.removeItem(tokenKey);
  signOut();
});

// A page that nobody sees costs the service nothing.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    connection?.abort();
    isLive = false;
    showState("", "Paused");
  } else if ($("login").hidden) {
    connect();
  }
});
setInterval(() => {
  if (!document.hidden && snapshot && (clientPages.offset > 0 || $("client-search").value)) loadClients();
}, 2000);
setInterval(() => {
  const silence = Math.floor((Date.now() - heardAt) / 1000);
  if (isLive && silence >= 5) showState("bad", `No news for ${silence} s`);
}, 1000);

// The pause comes after the answer: a slow service is not asked twice at the same time.
async function lookAgain() {
  await new Promise((resume) => setTimeout(resume, 10000));
  if (!document.hidden && snapshot) {
    // A long list is looked up when somebody asks for it.
    await Promise.all([loadConfig(), loadRecent(), bucketTotal <= 50000 ? loadBuckets() : undefined]);
  }
  lookAgain();
}

addEventListener("hashchange", () => {
  if (takeKey()) connect();
});
takeKey();
connect();
lookAgain();
