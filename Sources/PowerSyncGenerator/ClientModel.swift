import PowerSyncSyncConfig

/// What an app has of a sync config: tables with typed columns, and streams with typed parameters.
struct ClientModel: Sendable {
    /// A table of the client's schema.
    struct Table: Sendable {
        /// A column, besides the implicit `id`.
        struct Column: Sendable {
            /// The name in SQL.
            var name: String
            /// What it holds.
            var type: DeclaredType
            /// Whether it may be NULL.
            var isOptional: Bool
        }

        /// The name in SQL.
        var name: String
        /// The columns in the order of the source.
        var columns: [Column]
        /// Columns of bytes, which are not synced.
        var leftOut: [String]
    }

    /// A stream.
    struct Stream: Sendable {
        /// A parameter of its subscriptions.
        struct Parameter: Sendable {
            /// The member of the parameters.
            var name: String
            /// What it holds; `nil` for any JSON.
            var type: DeclaredType?
            /// Whether it is a JSON array of these.
            var isArray = false
            /// Whether a subscription may leave it out.
            var isOptional = false
        }

        /// The name in the config.
        var name: String
        /// The priority of its buckets: 0 to 3.
        var priority: Int32
        /// Whether clients get it without subscribing.
        var isSubscribedByDefault: Bool
        /// The parameters in the order of their names.
        var parameters: [Parameter]
        /// Whether it also reads its parameters as a whole, so that there may be others.
        var takesAnyParameters: Bool
    }

    /// The tables in the order of their names.
    var tables: [Table]
    /// The streams in the order of the config.
    var streams: [Stream]
    /// What the author of the config should know.
    var notes: [String]

    /// Works out the model.
    ///
    /// - Parameters:
    ///   - plan: The compiled sync config.
    ///   - source: The tables of the source.
    /// - Throws: ``GenerationError`` with everything that is wrong.
    init(_ plan: SyncPlan, source: DeclaredSource) throws {
        var plan = plan
        plan.defaultSchema = source.defaultSchema
        var tables = TableModels(source: source)
        for evaluator in plan.evaluators { tables.add(evaluator) }
        self.tables = tables.tables
        streams = plan.streams.map { stream in
            var parameters = StreamParameters(plan, source: source.tables)
            for querier in stream.queriers { parameters.add(querier) }
            return Stream(
                name: stream.name,
                priority: stream.priority,
                isSubscribedByDefault: stream.isSubscribedByDefault,
                parameters: parameters.parameters,
                takesAnyParameters: parameters.readsAll
            )
        }
        notes = tables.notes
        let problems = tables.problems + Self.problems(of: self.tables)
        guard problems.isEmpty else { throw GenerationError(problems) }
    }

    /// Names that a client's schema cannot have.
    private static func problems(of tables: [Table]) -> [String] {
        var problems: [String] = []
        var names: [String: String] = [:]
        for table in tables {
            if !isAllowed(table.name) || table.name.lowercased().hasPrefix("sqlite_") {
                problems.append(
                    "Table '\(table.name)' cannot be in a client's schema because of its name. Sync it under an alias: FROM \(table.name.quoted) AS …"
                )
            }
            if let other = names.updateValue(table.name, forKey: table.name.lowercased()) {
                problems.append(
                    "Tables '\(other)' and '\(table.name)' are one for SQLite, which ignores case. Sync one of them under an alias."
                )
            }
            var columns = ["id": "id"]
            for column in table.columns {
                if !isAllowed(column.name) {
                    problems.append(
                        "Column '\(column.name)' of table '\(table.name)' cannot be in a client's schema because of its name. Select it AS another."
                    )
                }
                if let other = columns.updateValue(column.name, forKey: column.name.lowercased()) {
                    problems.append(
                        "Columns '\(other)' and '\(column.name)' of table '\(table.name)' are one for SQLite, which ignores case. Select one AS another name."
                    )
                }
            }
        }
        return problems
    }

    private static func isAllowed(_ name: String) -> Bool {
        !name.isEmpty
            && !name.unicodeScalars.contains { scalar in
                "\"'%,.#[]\0".unicodeScalars.contains(scalar) || scalar.properties.isWhitespace
            }
    }
}

extension String {
    fileprivate var quoted: String { "\"\(replacing("\"", with: "\"\""))\"" }
}
