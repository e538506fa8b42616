import HTTPConnections
import PowerSyncProtocol

/// Chooses the format of a sync stream from an `Accept` header (docs/protocol.md "Formats").
///
/// BSON is used only if it is the preferred match. Everything else gives NDJSON: no header, a tie, `*/*`, no match, or
/// a header that cannot be read.
enum ContentNegotiation {
    /// A type that the header offers.
    private struct MediaRange {
        var type: Substring
        var subtype: Substring
        var quality: Double
        var position: Int

        /// How well the range fits a media type: 0 for `*/*`, 1 for `application/*`, 2 for the type itself, `nil` when
        /// it does not fit.
        func specificity(for mediaType: String) -> Int? {
            let parts = mediaType.split(separator: "/")
            if type == "*", subtype == "*" { return 0 }
            guard type.lowercased() == parts[0] else { return nil }
            if subtype == "*" { return 1 }
            return subtype.lowercased() == parts[1] ? 2 : nil
        }
    }

    /// How much a format is preferred; larger is better.
    private struct Preference: Comparable {
        var quality: Double
        var specificity: Int
        var position: Int

        static func < (lhs: Preference, rhs: Preference) -> Bool {
            (lhs.quality, lhs.specificity, -lhs.position) < (rhs.quality, rhs.specificity, -rhs.position)
        }
    }

    /// The format for a header.
    static func format(accept: String?) -> SyncLineFormat {
        guard let accept else { return .ndjson }
        let ranges = parse(accept)
        guard let bson = preference(for: .bson, in: ranges) else { return .ndjson }
        guard let ndjson = preference(for: .ndjson, in: ranges) else { return .bson }
        return bson > ndjson ? .bson : .ndjson
    }

    /// The preference by the most specific range that fits; `nil` when none does, or it has `q=0`.
    private static func preference(for format: SyncLineFormat, in ranges: [MediaRange]) -> Preference? {
        let fits = ranges.compactMap { range in
            range.specificity(for: format.mediaType).map {
                Preference(quality: range.quality, specificity: $0, position: range.position)
            }
        }
        let best = fits.max { ($0.specificity, $0.quality, -$0.position) < ($1.specificity, $1.quality, -$1.position) }
        return best.flatMap { $0.quality > 0 ? $0 : nil }
    }

    private static func parse(_ header: String) -> [MediaRange] {
        WeightedItem.list(header).enumerated().compactMap { position, item in
            let names = item.name.split(separator: "/", omittingEmptySubsequences: false)
            guard names.count == 2 else { return nil }
            return MediaRange(type: names[0], subtype: names[1], quality: item.weight, position: position)
        }
    }
}
