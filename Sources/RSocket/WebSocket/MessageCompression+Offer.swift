extension MessageCompression {
    /// What a service agrees to when a client offers compressed messages.
    ///
    /// No message refers to earlier ones, in either direction: what would have to be kept for that is 300 KiB for each connection,
    /// and the lines of a sync stream are long enough to be compressed each for itself.
    package struct Answer: Sendable, Hashable {
        /// What was agreed on.
        package var compression: MessageCompression
        /// The value of the header `Sec-WebSocket-Extensions` in the answer.
        package var header: String
    }

    /// Answers what a client offers.
    ///
    /// - Parameter header: The value of `Sec-WebSocket-Extensions`; several of them are joined with commas.
    /// - Returns: The answer to the first offer that can be accepted; `nil` when there is none, and messages are not compressed.
    package static func answer(toOffers header: String) -> Answer? {
        for offer in header.split(separator: ",") {
            if let answer = answer(toOffer: offer) { return answer }
        }
        return nil
    }

    /// An offer with a parameter that is unknown, wrong, or there twice is declined (RFC 7692, 7).
    private static func answer(toOffer offer: Substring) -> Answer? {
        var parts = offer.split(separator: ";", omittingEmptySubsequences: false).map(\.trimmingSpaces)[...]
        guard parts.popFirst()?.lowercased() == "permessage-deflate" else { return nil }
        var names: Set<String> = []
        var windowBits = 15
        for part in parts {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmingSpaces)
            let name = pair[0].lowercased()
            guard names.insert(name).inserted else { return nil }
            let bits = pair.count == 2 ? bits(pair[1]) : nil
            switch (name, pair.count) {
            case ("client_no_context_takeover", 1), ("server_no_context_takeover", 1), ("client_max_window_bits", 1):
                break
            case ("client_max_window_bits", 2):
                guard bits != nil else { return nil }
            case ("server_max_window_bits", 2):
                // zlib has no window of 8 bits.
                guard let bits, bits > 8 else { return nil }
                windowBits = bits
            default: return nil
            }
        }
        var answer = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
        if names.contains("server_max_window_bits") { answer += "; server_max_window_bits=\(windowBits)" }
        return Answer(
            compression: MessageCompression(keepsWindow: false, sentWindowBits: windowBits),
            header: answer
        )
    }

    private static func bits(_ value: Substring) -> Int? {
        var digits = value
        if digits.count >= 2, digits.first == "\"", digits.last == "\"" { digits = digits.dropFirst().dropLast() }
        guard let bits = Int(digits), (8...15).contains(bits), digits.first != "0", digits.first != "+" else {
            return nil
        }
        return bits
    }
}
