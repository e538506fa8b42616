extension DashboardPage {
    static let markup = #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>PowerSync service</title>
        <link rel="icon" href="dashboard/icon.svg" type="image/svg+xml">
        <link rel="stylesheet" href="dashboard/style.css">
        <script type="module" src="dashboard/script.js"></script>
        </head>
        <body>
        <a class="skip" href="#main">Skip to contents</a>
        <header>
        <h1>PowerSync service</h1>
        <p id="state" role="status">Connecting…</p>
        <button id="leave" type="button" hidden>Forget the token</button>
        </header>
        <noscript><p class="note">This page needs JavaScript. <code>powersync status</code> does without.</p></noscript>
        <main id="main" tabindex="-1">
        <form id="login" class="panel" hidden>
        <h2>Who are you?</h2>
        <p>This page needs one of <code>api.tokens</code> of the service's configuration. It is kept in this tab only.</p>
        <p class="fields">
        <label for="token">Admin token</label>
        <input id="token" type="password" autocomplete="off" spellcheck="false" required>
        <button type="submit">Show the dashboard</button>
        </p>
        <p id="login-error" class="error" role="alert"></p>
        </form>
        <div id="panels" hidden>
        <nav aria-label="Panels">
        <a href="#replication">Replication</a>
        <a href="#clients">Clients</a>
        <a href="#buckets">Buckets</a>
        <a href="#storage">Storage</a>
        <a href="#config">Config</a>
        <a href="#user">What a user gets</a>
        </nav>
        <section id="replication" class="panel" aria-labelledby="replication-title">
        <h2 id="replication-title">Replication</h2>
        <p id="replication-error" class="error" role="alert" hidden></p>
        <dl id="replication-facts" class="facts"></dl>
        <div id="plots" class="plots"></div>
        <div class="scroll" tabindex="0" role="region" aria-label="Replication streams">
        <table id="streams"></table>
        </div>
        </section>
        <section id="clients" class="panel" aria-labelledby="clients-title">
        <h2 id="clients-title">Connected clients</h2>
        <dl id="client-facts" class="facts"></dl>
        <p class="fields">
        <label for="client-search">Search by user, client or program</label>
        <input id="client-search" type="search" autocomplete="off" spellcheck="false">
        </p>
        <div class="scroll" tabindex="0" role="region" aria-label="Connected clients">
        <table id="client-table"></table>
        </div>
        <div id="client-pages" class="pages"></div>
        </section>
        <section id="buckets" class="panel" aria-labelledby="buckets-title">
        <h2 id="buckets-title">Buckets</h2>
        <p class="fields">
        <label for="bucket-search">Search by name</label>
        <input id="bucket-search" type="search" autocomplete="off" spellcheck="false">
        </p>
        <p id="bucket-summary" role="status"></p>
        <div class="scroll" tabindex="0" role="region" aria-label="Buckets with the most operations">
        <table id="bucket-table"></table>
        </div>
        <div id="bucket-pages" class="pages"></div>
        </section>
        <section id="storage" class="panel" aria-labelledby="storage-title">
        <h2 id="storage-title">Storage and compaction</h2>
        <ul id="storage-problems" class="findings"></ul>
        <dl id="storage-facts" class="facts"></dl>
        <p id="compaction"></p>
        </section>
        <section id="config" class="panel" aria-labelledby="config-title">
        <h2 id="config-title">Config and diagnostics</h2>
        <div id="config-content"><p>Loading…</p></div>
        </section>
        <section id="user" class="panel" aria-labelledby="user-title">
        <h2 id="user-title">What a user gets</h2>
        <p>The buckets of a client that syncs for the first time now, and the rows that it then has.</p>
        <form id="user-form">
        <p class="fields">
        <label for="user-id">User ID</label>
        <input id="user-id" autocomplete="off" spellcheck="false" required>
        </p>
        <details>
        <summary>Parameters, claims and subscriptions</summary>
        <p class="fields">
        <label for="user-parameters">Parameters of the connection, as a JSON object</label>
        <textarea id="user-parameters" rows="2" spellcheck="false" placeholder='{"project": "p1"}'></textarea>
        </p>
        <p class="fields">
        <label for="user-claims">Claims of the token beside <code>sub</code>, as a JSON object</label>
        <textarea id="user-claims" rows="2" spellcheck="false" placeholder='{"role": "admin"}'></textarea>
        </p>
        <p class="fields">
        <label for="user-subscriptions">Subscriptions, as a JSON array</label>
        <textarea id="user-subscriptions" rows="2" spellcheck="false"
         placeholder='[{"stream": "todos", "parameters": {"list": "1"}}]'></textarea>
        </p>
        <p class="check">
        <input id="user-defaults" type="checkbox" checked>
        <label for="user-defaults">Streams that everybody gets (<code>auto_subscribe</code>)</label>
        </p>
        </details>
        <p><button type="submit">Show</button></p>
        </form>
        <p id="user-error" class="error" role="alert"></p>
        <div id="user-result" aria-live="polite"></div>
        </section>
        </div>
        </main>
        </body>
        </html>

        """#
}
