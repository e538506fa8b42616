import MySQLBinlog
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// Groups of the log as messages of a source.
@Suite struct ChangeAssemblyTests {
    func assembly(
        _ tables: [FollowedTable] = [.made(.made("lists"))],
        cascades: [MySQLForeignKey] = [],
        ancestors: [MySQLTable] = [],
        comparesExactly: Bool = true,
        fileMadeAt: UInt32? = nil
    ) -> ChangeAssembly {
        ChangeAssembly(
            tables,
            after: MadeLog.position(MadeLog.start),
            context: .init(
                comparesExactly: comparesExactly,
                cascades: cascades,
                ancestors: ancestors,
                fileMadeAt: fileMadeAt,
                reads: { $0.schema == "app" && ($0.name == "lists" || $0.name.hasPrefix("part_")) }
            )
        )
    }

    func log(_ body: (inout MadeLog) -> Void) -> MadeLog {
        var log = MadeLog()
        body(&log)
        return log
    }

    func add(_ log: MadeLog, to assembly: inout ChangeAssembly) throws {
        for event in log.events { try assembly.add(event) }
    }

    /// Messages as short texts.
    func texts(_ messages: [SourceMessage]) -> [String] {
        func text(_ values: [SQLValue]?) -> String {
            (values ?? []).map { value in
                if case .text(let text) = value { text } else { "NULL" }
            }.joined(separator: ",")
        }
        return messages.map { message in
            switch message {
            case .changes(let changes, _):
                changes.map { change in
                    let old = change.oldKey.map { " was \(text($0))" } ?? ""
                    return change.kind == .delete
                        ? "delete \(text(change.oldKey))" : "\(text(change.row?.values))\(old)"
                }.joined(separator: "; ")
            case .partialUpdates(let updates, _):
                "read "
                    + updates.map { update in
                        let columns = zip(update.row.layout.names, update.row.values).map { "\($0)=\(text([$1]))" }
                        return columns.joined(separator: ",") + (update.oldKey.map { " was \(text($0))" } ?? "")
                    }.joined(separator: "; ")
            case .cascade(let cascade):
                "find \(cascade.relationID) by \(cascade.columns) \(cascade.values.map { text($0) })"
                    + cascade.references.map { "; \($0.relationID) by \($0.columns) of \($0.parentID)" }.joined()
            case .truncate: "truncate"
            case .begin(let lsn, _): "begin \(LogPosition(lsn)?.offset ?? 0)"
            case .marker: "marker"
            case .commit(let lsn): "commit \(LogPosition(lsn)?.offset ?? 0)"
            case .tablesChanged: "tables changed"
            }
        }
    }

    func assembled(_ log: MadeLog, _ assembly: ChangeAssembly? = nil) throws -> [String] {
        var assembly = assembly ?? self.assembly()
        try add(log, to: &assembly)
        return texts(assembly.take())
    }

    // MARK: Groups

    @Test func groupsHaveOneBoundaryAtTheirEnd() throws {
        let log = log { log in
            log.group { $0.row("lists", after: ["a", "one", nil]) }
            log.group {
                $0.row("lists", before: ["a", "one", nil], after: ["a", "two", "x"])
                $0.row("lists", before: ["a", "two", "x"])
            }
        }
        #expect(
            try assembled(log) == [
                "begin 1001", "a,one,NULL", "begin 1501", "a,two,x; delete a", "commit 2200",
            ]
        )
    }

    @Test func aGroupThatGoesOnHasItsBoundaryLater() throws {
        var assembly = assembly()
        let log = log { log in
            log.group { $0.row("lists", after: ["a", "one", nil]) }
            log.group {
                $0.row("lists", after: ["b", "two", nil])
                $0.row("lists", after: ["c", "three", nil])
            }
        }
        for event in log.events.prefix(9) { try assembly.add(event) }
        #expect(texts(assembly.take()) == ["begin 1001", "a,one,NULL", "commit 1500", "begin 1501", "b,two,NULL"])
        #expect(texts(assembly.take()).isEmpty)
        #expect(texts(assembly.takeBoundary()).isEmpty)
        for event in log.events.dropFirst(9) { try assembly.add(event) }
        #expect(texts(assembly.take()) == ["c,three,NULL", "commit 2200"])
    }

    /// The boundary of the groups before is behind their rows, and not behind those of a group that is left out.
    @Test func whatIsLeftOutOfAGroupThatGoesOnLeavesTheOnesBeforeWhole() throws {
        var assembly = assembly()
        let log = log { log in
            log.group { $0.row("lists", after: ["a", nil, nil]) }
            log.group { $0.row("lists", after: ["b", nil, nil]) }
        }
        for event in log.events.dropLast() { try assembly.add(event) }
        #expect(texts(assembly.takeWhole()) == ["begin 1001", "a,NULL,NULL", "commit 1500"])
    }

    @Test func groupsOfOtherTablesAreABoundary() throws {
        var assembly = assembly()
        try add(log { log in log.group { $0.row("others", after: ["a"]) } }, to: &assembly)
        #expect(assembly.take().isEmpty)
        #expect(texts(assembly.takeBoundary()) == ["commit 1500"])
        #expect(assembly.takeBoundary().isEmpty)
    }

    /// Without its begin, a caller took a stream that reads a long group of other tables for one that has caught up.
    @Test func aLongGroupOfOtherTablesIsTold() throws {
        var assembly = assembly()
        #expect(assembly.takeProgress().isEmpty)
        let log = log { log in
            log.group { $0.row("others", after: ["a"]) }
            log.group {
                $0.row("others", after: ["b"])
                $0.row("lists", after: ["c", nil, nil])
            }
        }
        for event in log.events.prefix(5) { try assembly.add(event) }
        #expect(texts(assembly.takeProgress()) == ["commit 1500"])
        for event in log.events[5..<9] { try assembly.add(event) }
        #expect(texts(assembly.takeProgress()) == ["begin 1501"])
        #expect(assembly.takeProgress().isEmpty)
        for event in log.events.dropFirst(9) { try assembly.add(event) }
        #expect(texts(assembly.take()) == ["c,NULL,NULL", "commit 2200"])
    }

    @Test func longValuesAreHandedOnBeforeThereAreManyRows() throws {
        var assembly = assembly()
        var log = MadeLog()
        log.gtid()
        log.query("BEGIN")
        let text = String(repeating: "x", count: 60_000)
        var count = 0
        while !assembly.isFull, count < 1000 {
            log.row("lists", after: ["\(count)", text, nil])
            for event in log.events.suffix(count == 0 ? 4 : 2) { try assembly.add(event) }
            count += 1
        }
        #expect(count == ChangeAssembly.maximumBytes / 60_000 + 1)
        _ = assembly.take()
        #expect(!assembly.isFull)
    }

    @Test func groupsOfMariaDBEndByTheirFlags() throws {
        let log = log { log in
            log.mariaDBGTID()
            log.skipped()
            log.row("lists", after: ["a", nil, nil])
            log.query("COMMIT")
            log.mariaDBGTID(0x01)
            log.query("CREATE USER x")
            log.mariaDBGTID()
            log.row("lists", after: ["b", nil, nil])
            log.xid()
        }
        #expect(try assembled(log) == ["begin 1001", "a,NULL,NULL", "begin 1701", "b,NULL,NULL", "commit 2100"])
    }

    @Test func aGroupWithoutEndIsAnError() throws {
        let log = log { log in
            log.gtid()
            log.query("BEGIN")
            log.gtid()
        }
        #expect(throws: LogOrderError.self) { try assembled(log) }
    }

    @Test func aGroupThatTheServerDidNotFinishIsLeftOut() throws {
        var assembly = assembly()
        let log = log { log in
            log.group { $0.row("lists", after: ["a", nil, nil]) }
            log.gtid()
            log.query("BEGIN")
            log.row("lists", after: ["b", nil, nil])
            log.rotate(to: "binlog.000002")
        }
        try add(log, to: &assembly)
        #expect(texts(assembly.takeWhole()) == ["begin 1001", "a,NULL,NULL", "commit 1500"])
        #expect(assembly.tablesToCopy == [0: .unfinishedGroup])
    }

    @Test func aLogThatHasGoneBackIsNoticed() throws {
        for body: (inout MadeLog) -> Void in [
            { $0.rotate(to: "binlog.000000") }, { $0.heartbeat("binlog.000001", 900) },
            { $0.rotate(to: "binlog.000001") },
            { $0.rotate(to: "binlog.000001", at: 2000) },
        ] {
            var assembly = assembly()
            try add(log(body), to: &assembly)
            #expect(assembly.isContradicted)
        }
        var assembly = assembly()
        try add(log { $0.heartbeat("binlog.000001", 1000) }, to: &assembly)
        try add(log { $0.rotate(to: "binlog.000001", at: 1000) }, to: &assembly)
        // The server names the next file at the end of a file, and once more at its begin.
        try add(log { $0.rotate(to: "binlog.000002") }, to: &assembly)
        try add(log { $0.rotate(to: "binlog.000002") }, to: &assembly)
        #expect(!assembly.isContradicted)
    }

    // MARK: Rows

    @Test func anotherKeyIsToldWithTheOldOne() throws {
        let log = log { log in
            log.group { $0.row("lists", before: ["a", "x", nil], after: ["b", "x", nil]) }
        }
        #expect(try assembled(log) == ["begin 1001", "b,x,NULL was a", "commit 1500"])
    }

    @Test func whatIsNotInTheRowAfterWasNotChanged() throws {
        let log = log { log in
            log.group { $0.row("lists", before: ["a", "x", "n"], after: ["a", "y", nil], missingAfter: [0, 2]) }
        }
        #expect(try assembled(log) == ["begin 1001", "a,y,n", "commit 1500"])
    }

    @Test func rowsThatAreNotWholeAreRead() throws {
        let log = log { log in
            log.group {
                $0.row(
                    "lists",
                    before: ["a", nil, nil],
                    after: [nil, "y", nil],
                    missingBefore: [1, 2],
                    missingAfter: [0, 2]
                )
            }
            log.group { $0.row("lists", after: ["b", "z", nil], missingAfter: [2]) }
        }
        #expect(
            try assembled(log)
                == [
                    "commit 1000", "begin 1001", "read id=a,name=y", "commit 1500", "begin 1501", "read id=b,name=z",
                    "commit 2000",
                ].filter { $0 != "commit 1000" }
        )
    }

    @Test func rowsWithoutTheirKeyMakeTheTableBeCopied() throws {
        var assembly = assembly()
        try add(
            log { log in log.group { $0.row("lists", before: [nil, "x", nil], missingBefore: [0, 2]) } },
            to: &assembly
        )
        #expect(assembly.tablesToCopy == [0: .incompleteRow])
        #expect(assembly.takeWhole().isEmpty)
    }

    /// Without the key before, the row of another key may be left.
    @Test func updatesWithoutTheKeyBeforeMakeTheTableBeCopied() throws {
        var assembly = assembly()
        let log = log { log in
            log.group {
                $0.row(
                    "lists",
                    before: [nil, "x", nil],
                    after: ["a", nil, nil],
                    missingBefore: [0, 2],
                    missingAfter: [1, 2]
                )
            }
        }
        try add(log, to: &assembly)
        #expect(assembly.tablesToCopy == [0: .incompleteRow])
    }

    @Test func rowsOfTablesWithoutKeyAreLookedFor() throws {
        let assembly = assembly([.made(.made("lists", key: .none))])
        let log = log { log in
            log.group {
                $0.row("lists", before: ["a", "x", "n"])
                $0.row("lists", before: ["a", "x", "n"], after: ["a", "y", "n"])
            }
        }
        #expect(
            try assembled(log, assembly) == [
                "begin 1001", "read id=a,name=x,note=n; id=a,name=x,note=n", "a,y,n", "commit 1700",
            ]
        )
    }

    @Test func whatACopyHasSeenIsLeftOut() throws {
        let assembly = assembly([.made(.made("lists"), copied: MadeLog.position(1500))])
        let log = log { log in
            log.group { $0.row("lists", after: ["a", nil, nil]) }
            log.group { $0.row("lists", after: ["b", nil, nil]) }
        }
        #expect(try assembled(log, assembly) == ["begin 1501", "b,NULL,NULL", "commit 2000"])
    }

    @Test func rowsOfOtherLayoutsMakeTheTableBeCopied() throws {
        var assembly = assembly()
        try add(log { log in log.group { $0.row("lists", after: ["a", "x"]) } }, to: &assembly)
        #expect(assembly.tablesToCopy == [0: .layout])
    }

    @Test func tablesThatAreNotFollowedAreLookedForOnce() throws {
        var assembly = assembly()
        try add(log { log in log.group { $0.row("part_1", after: ["a"]) } }, to: &assembly)
        guard case .unknownTable? = assembly.look else {
            Issue.record("\(String(describing: assembly.look))")
            return
        }
        assembly.confirmTables()
        var second = MadeLog()
        second.group { $0.row("part_1", after: ["b"]) }
        try add(second, to: &assembly)
        #expect(assembly.look == nil)
    }

    // MARK: Undoing

    @Test func whatASavepointUndoesIsRead() throws {
        let log = log { log in
            log.group {
                $0.row("lists", after: ["a", nil, nil])
                $0.query("SAVEPOINT `s`")
                $0.row("lists", after: ["b", nil, nil])
                $0.query("ROLLBACK TO `s`")
                $0.row("lists", after: ["c", nil, nil])
            }
        }
        #expect(
            try assembled(log) == [
                "begin 1001", "a,NULL,NULL; b,NULL,NULL", "read id=b", "c,NULL,NULL", "commit 2100",
            ]
        )
    }

    @Test func whatIsUndoneWithoutASavepointIsCopied() throws {
        for end in ["ROLLBACK", "ROLLBACK TO unknown"] {
            var assembly = assembly()
            let log = log { log in
                log.gtid()
                log.query("BEGIN")
                log.row("lists", after: ["a", nil, nil])
                log.query(end)
            }
            try add(log, to: &assembly)
            #expect(assembly.tablesToCopy == [0: .undone])
        }
    }

    // MARK: Statements

    @Test(arguments: [
        ("TRUNCATE lists", "app", true), ("TRUNCATE TABLE `app`.`lists`", "other", true),
        ("TRUNCATE lists", "other", false),
        ("TRUNCATE other.lists", "app", false), ("TRUNCATE LISTS", "app", false),
    ])
    func aTableIsEmptiedByItsNameAndSchema(_ statement: String, _ schema: String, _ isEmptied: Bool) throws {
        var assembly = assembly()
        try add(
            log { log in
                log.gtid()
                log.query(statement, schema: schema)
            },
            to: &assembly
        )
        #expect((assembly.look != nil) == isEmptied)
        assembly.confirmTables()
        #expect(texts(assembly.take()) == (isEmptied ? ["begin 1001", "truncate", "commit 1200"] : []))
    }

    @Test func namesAreComparedAsTheServerDoes() throws {
        var assembly = assembly(comparesExactly: false)
        try add(
            log { log in
                log.gtid()
                log.query("TRUNCATE Lists", schema: "APP")
            },
            to: &assembly
        )
        assembly.confirmTables()
        #expect(texts(assembly.take()) == ["begin 1001", "truncate", "commit 1200"])
        try add(log { $0.group { $0.row("LISTS", after: ["a", nil, nil], schema: "App") } }, to: &assembly)
        #expect(texts(assembly.take()).prefix(2) == ["begin 1001", "a,NULL,NULL"])
    }

    @Test(arguments: [
        ("INSERT INTO lists VALUES (1)", true), ("UPDATE other.lists SET a = 1", true), ("CALL change()", true),
        ("INSERT INTO shown VALUES (1)", true), ("INSERT INTO mysql.x VALUES (1)", false),
        ("SET PASSWORD = 'lists'", false),
    ])
    func statementsThatChangeRowsMakeTablesBeCopied(_ statement: String, _ isCopied: Bool) throws {
        var assembly = assembly()
        try add(
            log { log in
                log.gtid()
                log.query("BEGIN")
                log.query(statement)
                log.xid()
            },
            to: &assembly
        )
        #expect((assembly.tablesToCopy == [0: .statement]) == isCopied)
    }

    struct Alteration: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var reading: Set<String>?
        var isTold = true
        var hasRows = false
        var columns: [String]?
        var isCopied: Bool

        init(
            _ statement: String,
            reading: Set<String>? = nil,
            isTold: Bool = true,
            hasRows: Bool = false,
            columns: [String]? = nil,
            isCopied: Bool
        ) {
            testDescription = statement
            self.reading = reading
            self.isTold = isTold
            self.hasRows = hasRows
            self.columns = columns
            self.isCopied = isCopied
        }
    }

    /// The catalogue has the same form of the table as before.
    @Test(arguments: [
        Alteration("ALTER TABLE lists COMMENT 'x'", isCopied: false),
        Alteration("ALTER TABLE lists DROP name", isCopied: true),
        Alteration("ALTER TABLE lists DROP note", reading: ["name"], isCopied: false),
        Alteration("ALTER TABLE lists DROP NAME", reading: ["name"], isCopied: true),
        Alteration("ALTER TABLE lists DROP note", reading: ["name"], hasRows: true, isCopied: true),
        Alteration(
            "ALTER TABLE lists DROP note",
            reading: ["name"],
            hasRows: true,
            columns: ["id", "name"],
            isCopied: false
        ),
        Alteration("ALTER TABLE lists MODIFY name TEXT", isCopied: false),
        Alteration("ALTER TABLE lists MODIFY name TEXT", isTold: false, isCopied: true),
        Alteration("ALTER TABLE lists MODIFY note TEXT", reading: ["name"], isTold: false, isCopied: false),
        Alteration("ALTER TABLE lists MODIFY note TEXT FIRST", reading: ["name"], hasRows: true, isCopied: true),
        Alteration("ALTER TABLE lists RENAME TO x", isCopied: true),
        Alteration("RENAME TABLE y TO lists", isCopied: true),
        Alteration("DROP TABLE lists", isCopied: true), Alteration("DROP TABLE other.lists", isCopied: false),
        Alteration("CREATE TABLE IF NOT EXISTS lists (id INT)", isCopied: false),
        Alteration("OPTIMIZE TABLE lists", isCopied: false),
        Alteration("ALTER TABLE lists EXCHANGE PARTITION p WITH TABLE x", isCopied: true),
        Alteration("FUTURE TABLE lists", isCopied: true),
    ])
    func tablesAreCopiedAfterStatementsThatTheCatalogueDoesNotTell(_ alteration: Alteration) throws {
        let table = MySQLTable.made("lists")
        let followed = FollowedTable.made(table, reading: alteration.reading, isToldByIncarnation: alteration.isTold)
        var assembly = assembly([followed])
        try add(
            log { log in
                if alteration.hasRows { log.group { $0.row("lists", after: ["a", "x", nil]) } }
                log.gtid()
                log.query(alteration.testDescription)
            },
            to: &assembly
        )
        if case .statement(let statement, let schema, let start) = assembly.look {
            let found = alteration.columns.map { MySQLTable.made("lists", columns: $0) } ?? table
            assembly.settle(statement, schema: schema, start: start, found: [followed.descriptor: found])
            assembly.confirmTables()
        }
        #expect((assembly.tablesToCopy == [0: .alteration]) == alteration.isCopied)
        guard let columns = alteration.columns else { return }
        // Rows are read in the new way from now on.
        var after = MadeLog()
        after.group { $0.row("lists", after: columns.map { _ in "v" }) }
        try add(after, to: &assembly)
        #expect(assembly.tablesToCopy.isEmpty)
    }

    /// A reader before may have read rows by the columns that the table got only with the statement.
    @Test(arguments: [("ALTER TABLE lists DROP note", true), ("ALTER TABLE lists COMMENT 'x'", false)])
    func rowsOfAReaderBeforeMayHaveBeenReadByOtherColumns(_ sql: String, _ isCopied: Bool) throws {
        let table = MySQLTable.made("lists")
        let followed = FollowedTable(
            descriptor: table.descriptor(SourceValueOptions()),
            table: table,
            form: MySQLValueForm(SourceValueOptions()),
            readColumns: ["name"],
            copied: nil,
            isToldByIncarnation: true
        )
        var assembly = assembly([followed])
        try add(
            log { log in
                log.gtid()
                log.query(sql)
            },
            to: &assembly
        )
        if case .statement(let statement, let schema, let start) = assembly.look {
            assembly.settle(statement, schema: schema, start: start, found: [followed.descriptor: table])
        }
        #expect((assembly.tablesToCopy == [0: .alteration]) == isCopied)
    }

    /// A boundary behind a statement says that all of its effect is stored: it is behind the statement only when the tables are the same.
    @Test(arguments: [
        ["ALTER TABLE lists DROP name"], ["TRUNCATE lists"], ["INSERT INTO lists VALUES (1)"],
        ["XA COMMIT X'62',X'',1"],
        ["BEGIN", "INSERT INTO mysql.x VALUES (1)", "ROLLBACK TO unknown", "COMMIT"],
    ])
    func theBoundaryIsBeforeAStatementUntilItsEffectIsKnown(_ statements: [String]) throws {
        let log = log { log in
            log.group { $0.row("lists", after: ["a", nil, nil]) }
            log.gtid()
            log.query(statements[0])
            if statements.count > 1 { log.row("lists", after: ["b", nil, nil]) }
            for statement in statements.dropFirst() { log.query(statement) }
        }
        var assembly = assembly()
        try add(log, to: &assembly)
        var other = assembly
        #expect(texts(assembly.takeWhole()) == ["begin 1001", "a,NULL,NULL", "commit 1500"])
        #expect(assembly.takeBoundary().isEmpty)
        guard assembly.tablesToCopy.isEmpty else { return }
        other.confirmTables()
        let whole = texts(other.takeWhole())
        #expect((whole + texts(other.takeBoundary())).last == "commit \(log.end)")
    }

    @Test func theFirstPartOfAnAlterationDoesNothing() throws {
        var assembly = assembly()
        try add(
            log { log in
                log.mariaDBGTID(0x21, extra: 0x02)
                log.query("ALTER TABLE lists DROP name")
            },
            to: &assembly
        )
        #expect(assembly.look == nil)
        try add(
            log { log in
                log.mariaDBGTID(0x21, extra: 0x04)
                log.query("ALTER TABLE lists DROP name")
            },
            to: &assembly
        )
        #expect(assembly.look != nil)
    }
}
