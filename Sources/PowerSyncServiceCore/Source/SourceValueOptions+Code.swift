package import PowerSyncSyncConfig

extension SourceTableDescriptor {
    /// How values are written, in ``form``.
    package static let valuesInForm = "form of values"

    /// How values of the table are written; `nil` for a table of a source that does not say it in ``form``.
    package var valueOptions: SourceValueOptions? {
        form[Self.valuesInForm].flatMap { SourceValueOptions(code: $0) }
    }
}

extension SourceValueOptions {
    private static let precisions: [(Character, TimestampPrecision)] = [
        ("s", .seconds), ("m", .milliseconds), ("u", .microseconds), ("n", .nanoseconds),
    ]

    /// The options in a few letters: `i` ISO 8601, `c` JSON of types that are not built in, and the precision.
    package var code: String {
        var code = "\(timestampsISO8601 ? "i" : "")\(writesDeclaredTypesAsJSON ? "c" : "")"
        if let precision = Self.precisions.first(where: { $0.1 == timestampMaximumPrecision }) {
            code.append(precision.0)
        }
        return code
    }

    /// Reads the letters.
    package init?(code: some StringProtocol) {
        self.init()
        timestampsISO8601 = code.contains("i")
        writesDeclaredTypesAsJSON = code.contains("c")
        for letter in code where letter != "i" && letter != "c" {
            guard let precision = Self.precisions.first(where: { $0.0 == letter }) else { return nil }
            timestampMaximumPrecision = precision.1
        }
    }
}
