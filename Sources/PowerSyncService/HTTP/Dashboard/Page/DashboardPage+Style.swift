extension DashboardPage {
    static let style = #"""
        :root {
          color-scheme: light dark;
          --page: #f4f5f7; --panel: #ffffff; --text: #1b1f24; --quiet: #59636e; --line: #d5dae0; --fill: #f0f2f5;
          --accent: #1f5fcc; --area: #1f5fcc22; --good: #1a6f37; --warn: #8a5700; --bad: #b42318;
          --good-fill: #e2f5e8; --warn-fill: #fdf0d2; --bad-fill: #fde7e4;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #0f1216; --panel: #181c22; --text: #e4e8ed; --quiet: #9aa5b1; --line: #303842; --fill: #222831;
            --accent: #7cb0ff; --area: #7cb0ff22; --good: #7ddb98; --warn: #f2c063; --bad: #ff9a8f;
            --good-fill: #16321f; --warn-fill: #3a2c0d; --bad-fill: #421b18;
          }
        }
        * { box-sizing: border-box; }
        body {
          margin: 0; background: var(--page); color: var(--text);
          font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
        }
        header { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 16px; padding: 14px 20px 10px; }
        h1 { font-size: 19px; margin: 0; }
        h2 { font-size: 16px; margin: 0 0 12px; }
        h3 { font-size: 14px; margin: 18px 0 6px; }
        header p { margin: 0; flex: 1; color: var(--quiet); }
        header p::before {
          content: ""; display: inline-block; width: 9px; height: 9px; border-radius: 50%; margin-right: 7px;
          background: var(--quiet);
        }
        header p.good::before { background: var(--good); }
        header p.bad { color: var(--bad); }
        header p.bad::before { background: var(--bad); }
        main { padding: 0 20px 40px; max-width: 1500px; margin: 0 auto; outline: none; }
        nav {
          position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: 2px; padding: 6px 0;
          background: var(--page);
        }
        nav a { padding: 6px 11px; border-radius: 7px; text-decoration: none; color: var(--text); }
        nav a:hover { background: var(--fill); }
        a { color: var(--accent); }
        .skip { position: absolute; left: -999px; padding: 8px 14px; background: var(--panel); }
        .skip:focus { left: 8px; top: 8px; z-index: 3; }
        .panel {
          background: var(--panel); border: 1px solid var(--line); border-radius: 11px; padding: 16px 18px;
          margin: 10px 0; scroll-margin-top: 52px;
        }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
        .facts { display: flex; flex-wrap: wrap; gap: 10px 30px; margin: 0 0 14px; }
        .facts dt { font-size: 13px; color: var(--quiet); }
        .facts dd {
          margin: 0; font-size: 19px; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
        }
        .facts dt::first-letter { text-transform: uppercase; }
        .facts dd.long { font-size: 14px; line-height: 28px; }
        .facts dd small { font-size: 13px; font-weight: 400; color: var(--quiet); }
        .plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(230px, 1fr)); gap: 12px; margin: 0 0 14px; }
        figure { margin: 0; border: 1px solid var(--line); border-radius: 8px; padding: 8px 10px 6px; }
        figcaption { display: flex; justify-content: space-between; gap: 8px; font-size: 13px; color: var(--quiet); }
        figcaption b { color: var(--text); font-variant-numeric: tabular-nums; }
        figure svg { display: block; width: 100%; height: 64px; margin: 4px 0 2px; overflow: visible; }
        figure polyline { fill: none; stroke: var(--accent); stroke-width: 1.6; vector-effect: non-scaling-stroke; }
        figure polygon { fill: var(--area); }
        figure line { stroke: var(--line); vector-effect: non-scaling-stroke; }
        figure p { margin: 0; font-size: 12px; color: var(--quiet); display: flex; justify-content: space-between; }
        .scroll { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; font-size: 14px; }
        caption { text-align: left; color: var(--quiet); font-size: 13px; padding: 0 0 4px; }
        th, td { text-align: left; padding: 6px 14px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
        th { font-weight: 600; font-size: 13px; color: var(--quiet); white-space: nowrap; }
        td { overflow-wrap: anywhere; }
        th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
        td.name { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: 13px; min-width: 130px; }
        .empty { color: var(--quiet); }
        .badge {
          display: inline-block; padding: 1px 8px; border-radius: 20px; font-size: 12.5px; background: var(--fill);
          white-space: nowrap;
        }
        .badge.good { background: var(--good-fill); color: var(--good); }
        .badge.warn { background: var(--warn-fill); color: var(--warn); }
        .badge.bad { background: var(--bad-fill); color: var(--bad); }
        .error { color: var(--bad); overflow-wrap: anywhere; }
        .error:empty { display: none; }
        .findings { list-style: none; margin: 0 0 12px; padding: 0; }
        .findings li { padding: 5px 0; overflow-wrap: anywhere; white-space: pre-wrap; }
        .findings .badge { margin-right: 8px; }
        pre {
          background: var(--fill); border-radius: 8px; padding: 12px; overflow: auto; max-height: 420px; font-size: 13px;
          line-height: 1.5;
        }
        code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: 0.93em; }
        .fields { display: flex; flex-direction: column; gap: 4px; max-width: 560px; margin: 0 0 12px; }
        .check { display: flex; gap: 8px; align-items: baseline; }
        label { font-size: 13px; color: var(--quiet); }
        input, textarea, button { font: inherit; color: inherit; }
        input:not([type=checkbox]), textarea {
          width: 100%; padding: 7px 10px; border: 1px solid var(--line); border-radius: 7px; background: var(--page);
        }
        textarea { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: 13px; resize: vertical; }
        ::placeholder { color: var(--quiet); opacity: 0.75; }
        button {
          align-self: flex-start; padding: 6px 14px; border: 1px solid var(--line); border-radius: 7px;
          background: var(--fill); cursor: pointer;
        }
        button[type=submit] { background: var(--accent); border-color: var(--accent); color: var(--panel); }
        button:disabled { opacity: 0.45; cursor: default; }
        summary { cursor: pointer; padding: 4px 0; margin: 0 0 8px; }
        .pages { display: flex; align-items: center; gap: 12px; margin-top: 10px; color: var(--quiet); font-size: 13px; }
        .pages[hidden] { display: none; }
        .columns { display: grid; grid-template-columns: minmax(240px, 1fr) minmax(0, 2fr); gap: 0 36px; }
        @media (max-width: 760px) {
          main { padding: 0 10px 30px; }
          header { padding: 12px 12px 8px; }
          .panel { padding: 13px 12px; }
          nav { flex-wrap: nowrap; overflow-x: auto; }
          nav a { white-space: nowrap; }
          .columns { display: block; }
          .facts { gap: 8px 22px; }
          .facts dd { font-size: 17px; }
          .plots { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px; }
          figcaption { flex-direction: column; gap: 0; }
          figure p span:not(.top) { display: none; }
          .facts dd.long { line-height: 1.4; }
          caption { display: block; }
          thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
          table, tbody, tr, td { display: block; }
          tr { border-bottom: 1px solid var(--line); padding: 8px 0; }
          td, td.number { display: flex; justify-content: space-between; gap: 16px; border: 0; padding: 2px 0; text-align: right; }
          td { white-space: normal; }
          td::before { content: attr(data-label); color: var(--quiet); font-size: 13px; text-align: left; flex: none; }
          td.name { text-align: right; }
          td.empty { display: block; text-align: left; }
        }
        @media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }

        """#
}
