import MySQLBinlog
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// What there is to say about tables that a sync config reads.
enum TableFindings {
    static func view(_ name: SourceTableName) -> Finding {
        leftOut(
            name,
            "\(name) is a view: it has no changes of its own, and its rows are not synced.",
            "Name the tables that it reads in the sync config."
        )
    }

    static func noTable(_ name: SourceTableName, type: String) -> Finding {
        leftOut(
            name,
            "\(name) is of the kind \(type), and no table: it is not synced.",
            "Take it out of the sync config."
        )
    }

    static func systemVersioned(_ name: SourceTableName) -> Finding {
        leftOut(
            name,
            "\(name) is system-versioned: the log has its history as further rows. Its rows are not synced.",
            "ALTER TABLE \(name.mysqlQuoted) DROP SYSTEM VERSIONING;"
        )
    }

    static func engine(_ name: SourceTableName, _ engine: String?) -> Finding {
        guard let engine else {
            return leftOut(
                name,
                "\(name) cannot be opened by the server, which does not name its engine: its rows are not synced.",
                "CHECK TABLE \(name.mysqlQuoted); says why."
            )
        }
        return leftOut(
            name,
            "\(name) has the engine \(engine), whose changes are not all in the log: its rows are not synced.",
            "ALTER TABLE \(name.mysqlQuoted) ENGINE = InnoDB;"
        )
    }

    static func hiddenColumns(_ name: SourceTableName) -> Finding {
        Finding(
            .error,
            .source,
            code: .mysqlPrivilege,
            place: .init(table: name),
            "The user may read some columns of \(name) only, and the log has all: its rows are not synced.",
            remedy: "GRANT SELECT ON \(name.mysqlQuoted) TO …; for the whole table."
        )
    }

    static func unknownType(_ name: SourceTableName, _ column: MySQLTable.Column) -> Finding {
        leftOut(
            name,
            """
            Column \(column.name) of \(name) has the type \(column.declaration), which this version cannot read from the log: the rows of \
            the table are not synced.
            """,
            "Give the column another type, or move it into a table of its own."
        )
    }

    /// What there is to say about a table that is replicated.
    static func warnings(_ table: MySQLTable) -> [Finding] {
        var findings: [Finding] = []
        func warn(_ message: String, _ remedy: String) {
            findings.append(Finding(.warning, .source, place: .init(table: table.name), message, remedy: remedy))
        }
        let alter = "ALTER TABLE \(table.name.mysqlQuoted)"
        if table.key == .none {
            warn(
                """
                \(table.name) has no primary key: equal rows are one row for clients, and each change of a row looks through the whole \
                table.
                """,
                "\(alter) ADD PRIMARY KEY (…);"
            )
        } else if table.copyKey == nil, table.estimatedRows ?? 0 > largeTable {
            warn(
                """
                \(table.name) has about \(table.estimatedRows ?? 0) rows, and a key by which it cannot be copied in parts: an interrupted \
                copy begins anew.
                """,
                "\(alter) ADD PRIMARY KEY (…); with columns of integer, text or time types, without prefixes."
            )
        }
        if table.engine.lowercased() == "memory" {
            warn(
                """
                \(table.name) has the engine MEMORY: it is empty after a restart of the server, and clients keep the rows until the table \
                is used for the first time.
                """,
                "\(alter) ENGINE = InnoDB;"
            )
        }
        for column in table.identity {
            guard let name = column.characterSet, case .other = MySQLCharset(name: name) else { continue }
            warn(
                """
                Column \(column.name) of the key of \(table.name) has the charset \(name), which the server has to convert for each \
                change: that is slow.
                """,
                "\(alter) MODIFY \(column.quotedName) \(column.declaration) CHARACTER SET utf8mb4;"
            )
        }
        return findings
    }

    /// From so many rows on, a table should be copied in parts.
    private static let largeTable: Int64 = 1_000_000

    private static func leftOut(_ name: SourceTableName, _ message: String, _ remedy: String) -> Finding {
        Finding(.warning, .source, place: .init(table: name), message, remedy: remedy, leavesTableOut: true)
    }
}

/// What there is to say about foreign keys whose rules change rows that are not in the log.
enum CascadeFindings {
    /// Changes of children are noticed.
    ///
    /// - Parameters:
    ///   - key: The foreign key.
    ///   - hasReferences: Whether the rows that may have changed are known.
    /// - Returns: The finding.
    static func followed(_ key: MySQLForeignKey, hasReferences: Bool) -> Finding {
        finding(
            key,
            hasReferences
                ? "each row that refers to the changed one is read again by its key."
                : "\(key.child) is copied again after each of them."
        )
    }

    /// Changes of children are not noticed, as the configuration says.
    static func ignored(_ key: MySQLForeignKey) -> Finding {
        finding(key, "clients keep such rows as they were (ignore_foreign_key_cascades).")
    }

    private static func finding(_ key: MySQLForeignKey, _ consequence: String) -> Finding {
        Finding(
            .warning,
            .source,
            code: .mysqlCascade,
            place: .init(table: key.child),
            """
            The foreign key \(key.name) changes rows of \(key.child) with those of \(key.parent), and the log does not have these changes: \
            \(consequence)
            """,
            remedy: """
                MySQL from 9.6 on writes them to the log. Or give the key ON DELETE NO ACTION ON UPDATE NO ACTION, and let a trigger \
                BEFORE DELETE ON \(key.parent.mysqlQuoted), or the application, change the rows of \(key.child.mysqlQuoted).
                """
        )
    }

    /// The parent cannot be seen.
    static func hidden(_ parent: SourceTableName, _ children: [SourceTableName], account: MySQLAccount) -> Finding {
        Finding(
            .error,
            .source,
            code: .mysqlPrivilege,
            place: .init(table: parent),
            """
            Foreign keys change rows of \(Set(children.map { "\($0)" }).sorted().joined(separator: ", ")) with those of \(parent), which \
            the user may not read: these changes would be missing.
            """,
            remedy: "GRANT SELECT ON \(parent.mysqlQuoted) TO \(account.quoted);"
        )
    }
}
