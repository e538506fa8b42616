/// The content coding of a response.
package enum ContentCoding: String, CaseIterable, Sendable {
    // In the order of preference.
    case gzip
    case identity

    /// The preference for a coding; larger is better.
    private struct Preference: Comparable {
        var weight: Double
        /// 1 for the coding itself, 0 for `*`.
        var specificity: Int
        var position: Int

        static func < (lhs: Preference, rhs: Preference) -> Bool {
            (lhs.weight, lhs.specificity, -lhs.position) < (rhs.weight, rhs.specificity, -rhs.position)
        }
    }

    /// The coding for a request.
    ///
    /// The one with the highest weight, then the one named first. `identity` has the lowest weight of the header unless
    /// the header says otherwise, and is what remains when nothing else will do.
    ///
    /// - Parameter acceptEncoding: The header; `nil` when there is none.
    /// - Returns: A coding that the client understands.
    package static func negotiated(acceptEncoding: String?) -> ContentCoding {
        guard let acceptEncoding else { return .identity }
        let items = WeightedItem.list(acceptEncoding)
        var best: (coding: ContentCoding, preference: Preference)?
        for coding in allCases {
            guard let preference = coding.preference(among: items), preference.weight > 0 else { continue }
            if let best, best.preference >= preference { continue }
            best = (coding, preference)
        }
        return best?.coding ?? .identity
    }

    /// The name in `Accept-Encoding` (RFC 9110, 8.4.1.3).
    private var names: [String] { self == .gzip ? [rawValue, "x-gzip"] : [rawValue] }

    private func preference(among items: [WeightedItem]) -> Preference? {
        let fits = items.enumerated().compactMap { position, item -> Preference? in
            let isNamed = names.contains(item.name.lowercased())
            guard isNamed || item.name == "*" else { return nil }
            return Preference(weight: item.weight, specificity: isNamed ? 1 : 0, position: position)
        }
        let named = fits.max { ($0.specificity, $0.weight) < ($1.specificity, $1.weight) }
        guard named == nil, self == .identity else { return named }
        let lowest = items.map(\.weight).filter { $0 > 0 }.min() ?? 1
        return Preference(weight: lowest, specificity: 1, position: items.count)
    }
}
