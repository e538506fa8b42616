/// The files of the dashboard: the folder `Page` of this target, which the build embeds into the program.
///
/// They need no build step of their own, and are there wherever the program is. The scripts are served as one, `script.js`: they share
/// a scope, and run in this order.
///
/// | File | What is in it |
/// | --- | --- |
/// | `core.js` | elements, numbers as people read them, requests, and tables |
/// | `plots.js` | values over the last five minutes |
/// | `banner.js` | the worst thing that is true now |
/// | `panels.js` | what every snapshot shows |
/// | `lookups.js` | what is asked for when it is looked at: parts of lists, the config, and what a user gets |
/// | `start.js` | signing in, and following the snapshots |
package enum DashboardPage {
    /// One file as it is served.
    package struct File: Sendable {
        /// Its name below `dashboard/`; empty for the page itself.
        package var name: String
        /// Its media type.
        package var type: String
        /// Its content.
        package var bytes: [UInt8]
    }

    /// The value of `Content-Security-Policy` for every file.
    ///
    /// The page runs only what the service itself serves, talks to no other host, and is in no frame; no text becomes markup.
    package static let securityPolicy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'; trusted-types 'none'
        """

    /// The page itself.
    package static let index = File(name: "", type: "text/html; charset=utf-8", bytes: PackageResources.index_html)

    /// What the page loads.
    package static let files = [
        File(name: "style.css", type: "text/css; charset=utf-8", bytes: PackageResources.style_css),
        File(name: "script.js", type: "text/javascript; charset=utf-8", bytes: script),
        File(name: "icon.svg", type: "image/svg+xml", bytes: PackageResources.icon_svg),
    ]

    private static let script = Array(
        [
            PackageResources.core_js, PackageResources.plots_js, PackageResources.banner_js,
            PackageResources.panels_js,
            PackageResources.lookups_js, PackageResources.start_js,
        ].joined(separator: [UInt8(ascii: "\n")])
    )
}
