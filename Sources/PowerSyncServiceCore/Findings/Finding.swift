package import PowerSyncProtocol
package import PowerSyncSyncConfig

/// What a check of a service, its databases or its configuration says about one thing.
///
/// The check makes it; commands, the admin API, the log and errors print it. Code, place, message and remedy are kept apart until then:
///
/// ```swift
/// Finding(
///     .error,
///     .source,
///     code: .privilegeMissing,
///     place: .init(table: SourceTableName(schema: "public", name: "lists")),
///     "Role sync may not read public.lists.",
///     remedy: "GRANT SELECT ON public.lists TO sync;"
/// )
/// ```
package struct Finding: Sendable, Hashable {
    /// How bad something is, in the order of the cases.
    package enum Severity: String, Sendable, Hashable, Comparable, Encodable, CaseIterable {
        /// It is in order.
        case ok
        /// It works, and something should be done about it.
        case warning
        /// It does not work, or the service does not start.
        case error

        package static func < (first: Severity, second: Severity) -> Bool {
            switch (first, second) {
            case (.ok, .warning), (.ok, .error), (.warning, .error): true
            default: false
            }
        }
    }

    /// The part of a service that was checked.
    package enum Area: String, Sendable, Hashable, Encodable {
        case configuration, syncConfig = "sync_config", keys, clock, certificate, storage, source, slots, ports, service
    }

    /// Where something was found.
    package struct Place: Sendable, Hashable {
        /// A file, an address, or a database without its secrets.
        package var location: String?
        /// The line in the file, starting from 1.
        package var line: Int?
        /// The column in the line, starting from 1.
        package var column: Int?
        /// The key of the configuration, such as `api.parameters.max_buckets_per_connection`.
        package var key: String?
        /// The table of the source.
        ///
        /// Messages about a table name it, so that it is not printed once more.
        package var table: SourceTableName?

        /// Creates a place.
        package init(
            location: String? = nil,
            line: Int? = nil,
            column: Int? = nil,
            key: String? = nil,
            table: SourceTableName? = nil
        ) {
            self.location = location
            self.line = line
            self.column = column
            self.key = key
            self.table = table
        }
    }

    /// How bad it is.
    package var severity: Severity
    /// What was checked.
    package var area: Area
    /// The code of the error catalogue, or of the findings about sync configs; `nil` when there is none.
    package var code: ErrorCode?
    /// Where it was found.
    package var place: Place
    /// What was found, and what follows from it.
    ///
    /// It has neither the code nor the place in it.
    package var message: String
    /// What mends it: a statement, a setting, or a sentence; `nil` when nothing has to be done.
    package var remedy: String?
    /// Whether the table of the place is not synced, or not with all its changes, while others are: the service starts nevertheless.
    package var leavesTableOut: Bool

    /// Creates a finding.
    package init(
        _ severity: Severity,
        _ area: Area,
        code: ErrorCode? = nil,
        place: Place = Place(),
        _ message: String,
        remedy: String? = nil,
        leavesTableOut: Bool = false
    ) {
        self.severity = severity
        self.area = area
        self.code = code
        self.place = place
        self.message = message
        self.remedy = remedy
        self.leavesTableOut = leavesTableOut
    }

    /// Whether rows are not replicated: those of one table, or all.
    package var leavesRowsOut: Bool { severity == .error || leavesTableOut }
}

extension Finding {
    /// A finding of the compiler of sync configs.
    ///
    /// - Parameters:
    ///   - diagnostic: The finding.
    ///   - area: The part that was checked: the sync config by itself, or the source by what the sync config names.
    ///   - file: The name of the file.
    package init(_ diagnostic: ConfigDiagnostic, _ area: Area = .syncConfig, file: String) {
        self.init(
            diagnostic.severity == .error ? .error : .warning,
            area,
            code: ErrorCode(rawValue: diagnostic.code),
            place: Place(location: file, line: diagnostic.line, column: diagnostic.column),
            diagnostic.message,
            remedy: diagnostic.hint
        )
    }
}

extension Finding {
    /// An error, with its code of the catalogue apart from its words.
    package init(_ area: Area, _ error: any Error) {
        let catalogued = error as? any CataloguedError
        self.init(
            .error,
            area,
            code: catalogued?.catalogueCode,
            catalogued?.uncodedDescription ?? "\(error)"
        )
    }
}

extension [Finding] {
    /// Adds that something is in order.
    package mutating func ok(_ area: Finding.Area, _ message: String, place: String? = nil) {
        append(Finding(.ok, area, place: .init(location: place), message))
    }

    /// Adds something that works, and should be changed.
    package mutating func warn(_ area: Finding.Area, _ message: String, place: String? = nil, remedy: String) {
        append(Finding(.warning, area, place: .init(location: place), message, remedy: remedy))
    }

    /// Adds something that does not work.
    package mutating func fail(
        _ area: Finding.Area,
        _ message: String,
        place: String? = nil,
        remedy: String,
        code: ErrorCode? = nil
    ) {
        append(Finding(.error, area, code: code, place: .init(location: place), message, remedy: remedy))
    }

    /// Whether one is an error.
    package var hasErrors: Bool { contains { $0.severity == .error } }

    /// The findings, errors first, otherwise in their order.
    package var errorsFirst: [Finding] { filter { $0.severity == .error } + filter { $0.severity != .error } }
}
