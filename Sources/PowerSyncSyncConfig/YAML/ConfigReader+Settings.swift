/// The section `config`.
extension ConfigReader {
    private static let settings =
        ["edition", "storage_version", "timestamp_max_precision"] + ConfigSettings.Option.allCases.map(\.rawValue)

    /// Reads the section.
    ///
    /// - Parameters:
    ///   - node: The section.
    ///   - meant: The edition that is assumed where the section says 1 or nothing.
    /// - Returns: The settings, and the edition that the section gives.
    mutating func readSettings(
        _ node: ConfigNode,
        editionInPlaceOf1 meant: Int
    ) -> (settings: ConfigSettings, edition: Int?) {
        var settings = ConfigSettings()
        settings.edition = meant
        guard let entries = entries(of: node, what: "“config”") else { return (settings, nil) }
        let edition = entries.first { $0.key == "edition" }.map { readEdition($0.value) }
        if let edition, edition > 1 { settings.edition = edition }
        for entry in entries {
            switch entry.key {
            case "edition":
                break
            case "storage_version":
                readStorageVersion(entry.value)
            case "timestamp_max_precision":
                settings.timestampMaximumPrecision = readPrecision(entry.value)
            default:
                if let option = ConfigSettings.Option(rawValue: entry.key) {
                    settings.options[option] = bool(entry)
                } else {
                    reportUnknownKey(entry, of: "“config”", among: Self.settings)
                }
            }
        }
        for entry in entries { check(entry, settings) }
        return (settings, edition)
    }

    private mutating func readEdition(_ value: ConfigNode) -> Int {
        guard let edition = value.integer, (1...3).contains(edition) else {
            diagnostics.report(.configEdition, "“edition” must be 1, 2 or 3, a number without quotes.", at: value.range)
            return 3
        }
        return edition
    }

    private mutating func readStorageVersion(_ value: ConfigNode) {
        switch value.integer {
        case 2, 4:
            diagnostics.report(
                .configNoEffect,
                "“storage_version” has no effect: this service's storage has a form of its own.",
                at: value.range
            )
        case 3:
            diagnostics.report(
                .configStorageUnstable,
                "Storage version 3 is unstable in the established service; here it has no effect.",
                at: value.range
            )
        default:
            diagnostics.report(
                .configStorageVersion,
                "“storage_version” must be 2, 3 or 4, a number without quotes.",
                hint: "It has no effect here: leave it out.",
                at: value.range
            )
        }
    }

    private mutating func readPrecision(_ value: ConfigNode) -> SourceValueOptions.TimestampPrecision? {
        guard let precision = value.string.flatMap(SourceValueOptions.TimestampPrecision.init) else {
            let choices = "seconds, milliseconds, microseconds or nanoseconds"
            diagnostics.report(.configPrecision, "The precision must be \(choices).", at: value.range)
            return nil
        }
        return precision
    }

    /// Checks what options need, and says which have no effect.
    private mutating func check(_ entry: ConfigNode.Entry, _ settings: ConfigSettings) {
        switch entry.key {
        case "timestamp_max_precision" where !settings.isOn(.timestampsISO8601):
            diagnostics.report(
                .configOptionRequires,
                "“timestamp_max_precision” needs ISO timestamps.",
                hint: "Set “timestamps_iso8601: true”, or edition 2 or 3.",
                at: entry.keyRange
            )
        case "versioned_bucket_ids" where settings.options[.versionedBucketIDs] == false:
            diagnostics.report(
                .configNoEffect,
                "Bucket names always carry the number of the deployed config.",
                at: entry.value.range
            )
        case "unstable_sqlite_expression_engine" where settings.isOn(.sqliteExpressions):
            if settings.edition < 3 || !settings.isOn(.fixedJSONExtract) {
                diagnostics.report(
                    .configOptionRequires,
                    "“unstable_sqlite_expression_engine” needs edition 3 and “fixed_json_extract”.",
                    at: entry.keyRange
                )
            } else {
                diagnostics.report(
                    .configUnsupported,
                    "This service evaluates expressions with the default engine only.",
                    hint: "Leave “unstable_sqlite_expression_engine” out.",
                    at: entry.keyRange
                )
            }
        default:
            break
        }
    }
}
