extension SwiftSource {
    /// The names of everything that is generated.
    struct Names {
        /// Those of a table.
        struct Table {
            /// The type of its rows.
            var type: String
            /// The properties, in the order of the columns.
            var columns: [String]
        }

        /// Those of a stream.
        struct Stream {
            /// The function.
            var function: String
            /// The parameters.
            var parameters: [String]
        }

        private(set) var tables: [Table] = []
        private(set) var streams: [Stream] = []

        /// Makes the names.
        ///
        /// - Parameters:
        ///   - model: What is generated.
        ///   - namespace: The name of the type that everything is in.
        /// - Throws: ``GenerationError`` when two names become one, or one becomes none.
        init(_ model: ClientModel, namespace: String) throws {
            var scope = Scope()
            if !SwiftName.isIdentifier(namespace) {
                scope.problems.append("'\(namespace)' is no name of a type in Swift. Choose another with --namespace.")
            }
            scope.begin("types of rows")
            var types: [String] = []
            for table in model.tables {
                types.append(
                    scope.name(of: "table '\(table.name)'", table.name, advice: "Sync it under an alias") {
                        $0.type + "Row"
                    }
                )
            }
            for (table, type) in zip(model.tables, types) {
                scope.begin("properties", taken: ["id": "the id"])
                let columns = table.columns.map { column in
                    scope.name(
                        of: "column '\(column.name)' of table '\(table.name)'",
                        column.name,
                        advice: "Select it AS another"
                    ) { $0.member }
                }
                tables.append(Table(type: type, columns: columns))
            }
            scope.begin("functions")
            let functions = model.streams.map { stream in
                scope.name(of: "stream '\(stream.name)'", stream.name, advice: "Rename it") { $0.member }
            }
            for (stream, function) in zip(model.streams, functions) {
                scope.begin("parameters", taken: stream.takesAnyParameters ? ["others": "all others"] : [:])
                let parameters = stream.parameters.map { parameter in
                    scope.name(
                        of: "parameter '\(parameter.name)' of stream '\(stream.name)'",
                        parameter.name,
                        advice: "Rename it"
                    ) { $0.member }
                }
                streams.append(Stream(function: function, parameters: parameters))
            }
            guard scope.problems.isEmpty else { throw GenerationError(scope.problems) }
        }
    }
}

/// Names that must differ from each other.
private struct Scope {
    var problems: [String] = []
    private var kind = ""
    private var owners: [String: String] = [:]

    /// Begins with new names.
    mutating func begin(_ kind: String, taken: [String: String] = [:]) {
        self.kind = kind
        owners = taken
    }

    /// The name of something; what is wrong with it is noted.
    mutating func name(of owner: String, _ sql: String, advice: String, _ form: (SwiftName) -> String) -> String {
        guard let name = SwiftName(sql) else {
            problems.append("Nothing in the name of \(owner) can be part of a name in Swift. \(advice).")
            return "_"
        }
        let text = form(name)
        if let other = owners.updateValue(owner, forKey: text) {
            problems.append("Of the \(kind), \(other) and \(owner) would both be '\(text)'. \(advice).")
        }
        return text
    }
}
