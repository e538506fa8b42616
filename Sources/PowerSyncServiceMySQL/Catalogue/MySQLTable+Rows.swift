import MySQLBinlog
import PowerSyncServiceCore
import PowerSyncSyncConfig

extension MySQLTable {
    /// A column with what a row of ``CatalogueRows/columns`` says of it.
    struct ColumnRow {
        /// `ORDINAL_POSITION`, from 1.
        var position: Int
        var column: Column
        /// The expression of a generated column.
        var expression: String?

        init?(_ row: [String?]) {
            guard row.count == 10, let name = row[2], let position = row[3].flatMap({ Int($0) }),
                let declaration = row[4]
            else { return nil }
            self.position = position
            let extra = (row[8] ?? "").uppercased()
            let words = extra.split(separator: " ")
            column = Column(
                name: name,
                type: MySQLColumnType(declaration: declaration),
                declaration: declaration,
                characterSet: row[5],
                collation: row[6],
                isNullable: row[7] == "YES",
                // PERSISTENT is MariaDB's older word for STORED.
                generation: extra.contains("VIRTUAL")
                    ? .virtual : words.contains("STORED") || words.contains("PERSISTENT") ? .stored : nil,
                isInvisible: words.contains("INVISIBLE")
            )
            expression = row[9].flatMap { $0.isEmpty ? nil : $0 }
        }

        /// What values of the column depend on, besides its name.
        var facts: [String?] { [column.declaration, column.characterSet, expression] }

        /// The same as one text.
        var form: String {
            var hash = FormHash()
            for text in facts { hash.add(text) }
            return hash.text
        }
    }

    /// A part of a unique key, as a row of ``CatalogueRows/keys`` has it.
    struct KeyPart {
        var index: String
        /// From 1.
        var position: Int
        /// `nil` for an expression.
        var column: String?
        var isPrefix: Bool
        /// Whether the index has an order, and queries may name it.
        var isOrdered: Bool

        init?(_ row: [String?]) {
            guard row.count == 8, let index = row[2], let position = row[3].flatMap({ Int($0) }) else { return nil }
            self.index = index
            self.position = position
            column = row[4]
            isPrefix = row[5] != nil
            isOrdered = row[6] == "BTREE" && row[7] == "YES"
        }
    }

    /// What tells rows apart.
    private struct Identity {
        var key = Key.none
        var indexes: [Int] = []
        var isOrdered = false
    }

    /// Creates a table from what the catalogue says.
    ///
    /// - Parameters:
    ///   - name: Schema and name.
    ///   - engine: The storage engine.
    ///   - columns: All columns, in their order.
    ///   - keys: The parts of all unique keys.
    ///   - incarnation: The numbers of InnoDB's tables that are the table; `nil` when they are not known.
    ///   - createdAt: When the table was made; counts without `incarnation`.
    ///   - isMariaDB: Whether the server leaves generated columns out of the log.
    ///   - followsAlter: Whether a change of columns makes it another table.
    ///   - readColumns: The columns that are read; `nil` for all.
    ///   - estimatedRows: About how many rows there are.
    init(
        _ name: SourceTableName,
        engine: String,
        _ columns: [ColumnRow],
        keys: [KeyPart],
        incarnation: String?,
        createdAt: String?,
        isMariaDB: Bool,
        followsAlter: Bool,
        reading readColumns: Set<String>?,
        estimatedRows: Int64?
    ) {
        let identity = Self.identity(columns.map(\.column), keys, isMariaDB: isMariaDB)
        // New columns of a table without a key are new columns of the identity.
        var keyHash = FormHash()
        for row in identity.indexes.map({ columns[$0] }) {
            for text in [row.column.name] + row.facts + [row.column.collation] { keyHash.add(text) }
        }
        var form = ["engine": engine.lowercased()]
        switch identity.key {
        case .primary: form["key"] = "PRIMARY \(keyHash.text)"
        case .unique(let name): form["key"] = "\(name) \(keyHash.text)"
        case .none: form["key"] = keyHash.text
        }
        if followsAlter { form["rewritten rows"] = incarnation ?? createdAt ?? "" }
        self.init(
            name: name,
            engine: engine,
            columns: columns.map(\.column),
            key: identity.key,
            identityIndexes: identity.indexes,
            keyIsOrdered: identity.isOrdered,
            form: form,
            columnForms: followsAlter ? columns.map(\.form) : [],
            hasIncarnation: incarnation != nil,
            estimatedRows: estimatedRows
        )
        read(readColumns)
    }

    /// The primary key; else the smallest unique key whose columns are never NULL; else all columns that are not generated.
    ///
    /// MariaDB writes generated columns to the log of some versions only: a key with one is passed over in all, so that an upgrade changes
    /// no identity.
    private static func identity(_ columns: [Column], _ parts: [KeyPart], isMariaDB: Bool) -> Identity {
        let indexes = Dictionary(columns.enumerated().map { ($1.name, $0) }) { first, _ in first }
        var candidates: [(name: String, columns: [Int], isOrdered: Bool)] = []
        for (name, parts) in Dictionary(grouping: parts, by: \.index) {
            let sorted = parts.sorted { $0.position < $1.position }
            let places = sorted.compactMap { part in part.column.flatMap { indexes[$0] } }
            let isPrimary = name == "PRIMARY"
            guard places.count == sorted.count,
                isPrimary || !sorted.contains(where: \.isPrefix) && !places.contains(where: { columns[$0].isNullable }),
                !isMariaDB || !places.contains(where: { columns[$0].generation != nil })
            else { continue }
            let isOrdered = sorted.allSatisfy { $0.isOrdered && !$0.isPrefix }
            candidates.append((name: name, columns: places, isOrdered: isOrdered))
        }
        if let primary = candidates.first(where: { $0.name == "PRIMARY" }) {
            return Identity(key: .primary, indexes: primary.columns, isOrdered: primary.isOrdered)
        }
        let smallest = candidates.min { ($0.columns.count, $0.name) < ($1.columns.count, $1.name) }
        if let smallest {
            return Identity(key: .unique(smallest.name), indexes: smallest.columns, isOrdered: smallest.isOrdered)
        }
        return Identity(indexes: columns.indices.filter { columns[$0].generation == nil })
    }
}
