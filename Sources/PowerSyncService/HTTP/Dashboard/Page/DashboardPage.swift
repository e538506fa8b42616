import HTTPTypes
import Hummingbird
import NIOCore

/// The files of the dashboard, which are parts of the program: they need no build step, and are there wherever it is.
enum DashboardPage {
    /// One file.
    struct File: Sendable {
        /// Its name below `dashboard/`.
        var name: String
        /// Its media type.
        var type: String
        /// What it says.
        var text: String

        /// The file as a response.
        var response: Response {
            Response(
                status: .ok,
                headers: [
                    .contentType: type, .cacheControl: "no-cache", .contentSecurityPolicy: DashboardPage.policy,
                    .xContentTypeOptions: "nosniff", .referrerPolicy: "no-referrer",
                ],
                body: ResponseBody(byteBuffer: ByteBuffer(string: text))
            )
        }
    }

    /// The page runs only what the service itself serves, talks to nobody else, and is in no frame; no text becomes markup.
    static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'; trusted-types 'none'
        """

    /// The page itself.
    static let html = File(name: "", type: "text/html; charset=utf-8", text: markup)

    /// What it loads.
    static let files = [
        File(name: "style.css", type: "text/css; charset=utf-8", text: style),
        File(name: "script.js", type: "text/javascript; charset=utf-8", text: script),
        File(name: "icon.svg", type: "image/svg+xml", text: icon),
    ]

    /// Whether a path is one of the dashboard.
    static func owns(_ path: String) -> Bool { RoutePath(path).isAtOrBelow("dashboard") }

    /// The parts of the script, in the order in which they run.
    private static var script: String { [coreScript, plotScript, panelScript, lookupScript, startScript].joined() }

    private static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2f6fde"/>\
        <path d="M7 20l6-8 5 5 7-9" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" \
        stroke-linejoin="round"/></svg>
        """
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}
