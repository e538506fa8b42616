import PowerSyncProtocol
import PowerSyncSyncConfig

/// Findings for people and for tools. No other place puts codes into brackets.
extension Finding.Place: CustomStringConvertible {
    /// `powersync.yaml:7: telemetry.prometheus_port`; empty when nothing but a table is known.
    package var description: String {
        let position = ([location] + [line, column].map { $0.map(String.init) }).compactMap(\.self).joined(
            separator: ":"
        )
        return [position, key ?? ""].filter { !$0.isEmpty }.joined(separator: ": ")
    }
}

extension Finding: CustomStringConvertible {
    /// Place, message and code: `sync.yaml:4:7: There is no table todo. [sql.unknown_table]`.
    private var headline: String {
        let place = place.description
        return (place.isEmpty ? "" : place + ": ") + message + (code.map { " [\($0)]" } ?? "")
    }

    /// Severity, place, message and code, and on a second line what mends it.
    ///
    /// ```
    /// error: Role sync may not read public.lists. [PSYNC_S1147]
    ///   GRANT SELECT ON public.lists TO sync;
    /// ```
    package var description: String { lines.joined(separator: "\n") }

    /// The lines of the description, for what escapes the line breaks of others.
    package var lines: [String] { ["\(severity.rawValue): \(headline)"] + (remedy.map { ["  \($0)"] } ?? []) }

    /// One line for a log or an answer: `[PSYNC_S1147] Role sync may not read public.lists. GRANT SELECT ON public.lists TO sync;`.
    package var sentence: String {
        let place = place.description
        return [code.map { "[\($0)]" }, place.isEmpty ? nil : place + ":", message, remedy].compactMap(\.self)
            .joined(separator: " ")
    }
}

extension Finding: Encodable {
    private enum CodingKeys: String, CodingKey {
        case level, area, place, table, message, remedy, code
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(severity, forKey: .level)
        try container.encode(area, forKey: .area)
        let place = place.description
        if !place.isEmpty { try container.encode(place, forKey: .place) }
        try container.encodeIfPresent(self.place.table?.description, forKey: .table)
        try container.encode(message, forKey: .message)
        try container.encodeIfPresent(remedy, forKey: .remedy)
        try container.encodeIfPresent(code?.rawValue, forKey: .code)
    }
}
