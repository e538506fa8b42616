import PowerSyncSyncConfig

/// Puts the tables of a client together from the queries that fill them.
struct TableModels {
    /// A table while its queries are read.
    private struct Draft {
        var columns: [(name: String, shape: ValueShape)] = []
        var queries = 0
        /// How many queries have each column.
        var uses: [String: Int] = [:]
    }

    let source: DeclaredSource
    private var drafts: [String: Draft] = [:]
    /// What the author of the config should know.
    private(set) var notes: [String] = []
    /// What keeps code from being made.
    private(set) var problems: [String] = []

    init(source: DeclaredSource) {
        self.source = source
    }

    /// Adds the rows of a query.
    mutating func add(_ query: DataQuery) {
        let tables = source.tables.filter { query.table.matches($0.name, defaultSchema: source.defaultSchema) }
        if tables.isEmpty {
            problems.append(
                "\(source.name) has no table '\(query.table)', which the sync config reads. \(source.remedy)"
            )
        }
        for table in tables { add(query, of: table) }
    }

    private mutating func add(_ query: DataQuery, of table: DeclaredTable) {
        let name = query.outputName ?? table.name.name
        var draft = drafts[name] ?? Draft()
        draft.queries += 1
        var seen: Set<String> = []
        for (column, shape) in outputs(of: query, table) where seen.insert(column).inserted {
            draft.uses[column, default: 0] += 1
            if let position = draft.columns.firstIndex(where: { $0.name == column }) {
                draft.columns[position].shape = draft.columns[position].shape.merged(with: shape)
            } else {
                draft.columns.append((column, shape))
            }
        }
        drafts[name] = draft
    }

    /// The columns of a query's rows; a later one replaces an earlier one of the same name.
    private mutating func outputs(of query: DataQuery, _ table: DeclaredTable) -> [(name: String, shape: ValueShape)] {
        var outputs: [(name: String, shape: ValueShape)] = []
        func set(_ name: String, _ shape: ValueShape, isOnlyIfMissing: Bool = false) {
            if let position = outputs.firstIndex(where: { $0.name == name }) {
                if !isOnlyIfMissing { outputs[position].shape = shape }
            } else {
                outputs.append((name, shape))
            }
        }
        let shape: (String) -> ValueShape = { table.column($0).map(ValueShape.init) ?? .unknown }
        for output in query.columns {
            switch output {
            case .star:
                for column in table.columns { set(column.name, ValueShape(column)) }
            case .legacyStar:
                for column in table.columns where !column.name.hasPrefix("_") {
                    set(column.name, ValueShape(column), isOnlyIfMissing: true)
                }
            case .expression(.column(let column), let name) where table.column(column) == nil:
                // Rows do not have an earlier one of that name either.
                outputs.removeAll { $0.name == name }
                notes.append(
                    "Table '\(table.name.name)' has no column '\(column)', so '\(name)' is left out of the generated code."
                )
            case .expression(let expression, let name):
                set(name, expression.shape(shape))
            }
        }
        return outputs
    }

    /// The tables in the order of their names.
    var tables: [ClientModel.Table] {
        drafts.sorted { $0.key < $1.key }.map { name, draft in
            let columns = draft.columns.filter { $0.name != "id" }
            return ClientModel.Table(
                name: name,
                columns: columns.filter { $0.shape.type != .bytes }.map { column in
                    ClientModel.Table.Column(
                        name: column.name,
                        type: column.shape.type ?? .text,
                        // A row that comes by another query does not have it.
                        isOptional: column.shape.isOptional || draft.uses[column.name] != draft.queries
                    )
                },
                leftOut: columns.filter { $0.shape.type == .bytes }.map(\.name)
            )
        }
    }
}

extension ValueShape {
    fileprivate init(_ column: DeclaredTable.Column) {
        self.init(type: DeclaredType(declaration: column.type), isOptional: !column.isNotNull)
    }
}
