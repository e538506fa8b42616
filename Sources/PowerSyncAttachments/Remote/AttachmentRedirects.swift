import Foundation
import PowerSyncClient
import PowerSyncHTTP

/// The last answer to a request, after the redirects that were followed, and what messages say of these.
typealias AttachmentHTTPAnswer = (response: HTTPExchangeResponse, redirects: AttachmentRedirects)

/// The redirects of one request, for messages.
struct AttachmentRedirects: Sendable, Equatable {
    /// The host that was asked last, if it is not the one of the request.
    private(set) var host: String?
    /// Whether that host has not got the app's headers.
    private(set) var withheldHeaders = false
    /// Why a redirect was not followed.
    private(set) var refusal: String?

    /// A redirect was followed.
    mutating func followed(to url: URL, withholdingHeaders: Bool) {
        host = url.host() ?? url.absoluteString
        withheldHeaders = withheldHeaders || withholdingHeaders
    }

    /// A redirect was not followed.
    mutating func refused(to url: URL?, because reason: String) {
        let target = url?.host().map { "to \($0)" } ?? "to nowhere"
        refusal = "it redirects \(target), which was not followed, so no credentials were sent there: \(reason)"
    }

    /// An addition to a message: nothing, or ` (…)`.
    var note: String {
        var parts: [String] = []
        if let host {
            parts.append(
                withheldHeaders
                    ? "after a redirect to \(host), which did not get the app's headers, so no credentials"
                    : "after a redirect to \(host)"
            )
        }
        if let refusal { parts.append(refusal) }
        return parts.isEmpty ? "" : " (\(parts.joined(separator: "; ")))"
    }
}
