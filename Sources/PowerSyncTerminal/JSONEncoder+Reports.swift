package import Foundation

extension JSONEncoder {
    /// The encoder of what commands print for tools: sorted members, and times as `2026-11-22T18:44:46Z`.
    package static var forReports: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return encoder
    }
}
