/// What two ends of a WebSocket have agreed on for compressed messages: `permessage-deflate` (RFC 7692).
///
/// The client reads compressed messages and sends none: its own are small. The service reads and sends them.
package struct MessageCompression: Sendable, Hashable {
    /// What a client offers in the header `Sec-WebSocket-Extensions`.
    ///
    /// What a client says about its own window costs the service no memory.
    package static let offer = "permessage-deflate; client_no_context_takeover"

    /// The answer of a service is not one to the offer.
    package struct UnexpectedAnswer: Error, CustomStringConvertible {
        /// What the service has said.
        package var header: String

        /// What is wrong, for people.
        package var description: String { "the service wants WebSocket extensions that were not offered: \(header)" }
    }

    /// Whether a message of the other end may refer to earlier ones.
    package var keepsWindow: Bool
    /// How far back in a message the other end can look, as a power of two; `nil` when it gets no compressed messages.
    package var sentWindowBits: Int?

    /// Creates an agreement.
    package init(keepsWindow: Bool, sentWindowBits: Int? = nil) {
        self.keepsWindow = keepsWindow
        self.sentWindowBits = sentWindowBits
    }

    /// Reads the answer of a service to the offer.
    ///
    /// - Parameter header: The value of `Sec-WebSocket-Extensions`; several of them are joined with commas.
    /// - Returns: `nil` when the service compresses nothing.
    /// - Throws: ``UnexpectedAnswer``; the connection is not to be used then (RFC 7692, 5.1).
    package static func accepted(inAnswer header: String) throws(UnexpectedAnswer) -> MessageCompression? {
        var parts = header.split(separator: ";", omittingEmptySubsequences: false).map(\.trimmingSpaces)[...]
        switch parts.popFirst()?.lowercased() {
        case nil: return nil
        case "" where parts.isEmpty: return nil
        case "permessage-deflate": break
        default: throw UnexpectedAnswer(header: header)
        }
        var names: Set<String> = []
        for part in parts {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmingSpaces)
            let name = pair[0].lowercased()
            guard names.insert(name).inserted else { throw UnexpectedAnswer(header: header) }
            switch (name, pair.count) {
            case ("client_no_context_takeover", 1), ("server_no_context_takeover", 1): break
            case ("server_max_window_bits", 2):
                // Any window up to ours can be read.
                let bits = Int(pair[1].filter { $0 != "\"" })
                guard let bits, (8...15).contains(bits) else { throw UnexpectedAnswer(header: header) }
            default: throw UnexpectedAnswer(header: header)
            }
        }
        return MessageCompression(keepsWindow: !names.contains("server_no_context_takeover"))
    }
}

extension Substring {
    /// Without white space at both ends.
    var trimmingSpaces: Substring {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
