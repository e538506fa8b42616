import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// Transactions that are prepared in one group, and take effect with another.
extension ChangeAssemblyTests {
    @Test func preparedRowsAreReadWhenTheyTakeEffect() throws {
        var assembly = assembly()
        let log = log { log in
            log.gtid()
            log.query("XA START X'61',X'',1")
            log.row("lists", before: ["a", nil, nil], after: ["b", nil, nil])
            log.query("XA END X'61',X'',1")
            log.prepare("a")
            log.group { $0.row("lists", after: ["c", nil, nil]) }
            log.gtid()
            log.query("XA COMMIT X'61',X'',1")
        }
        try add(log, to: &assembly)
        let texts = texts(assembly.take())
        #expect(texts.first == "begin 1601" && texts.contains("c,NULL,NULL"))
        #expect(texts.contains("read id=a; id=b") || texts.contains("read id=b; id=a"))
        #expect(texts.last == "commit 2300")
        #expect(assembly.tablesToCopy.isEmpty)
    }

    @Test func preparedRowsOfMariaDBAreKnownByTheirFlag() throws {
        let log = log { log in
            log.mariaDBGTID(0x4C)
            log.row("lists", after: ["a", nil, nil])
            log.query("XA END X'61',X'',1")
            log.prepare("a")
            log.mariaDBGTID(0x8D)
            log.query("XA ROLLBACK X'61',X'',1")
        }
        #expect(try assembled(log).isEmpty)
    }

    @Test func onePhaseIsACommit() throws {
        let log = log { log in
            log.gtid()
            log.query("XA START X'61',X'',1")
            log.row("lists", after: ["a", nil, nil])
            log.query("XA END X'61',X'',1")
            log.prepare("a", onePhase: true)
        }
        #expect(try assembled(log) == ["begin 1001", "read id=a", "commit 1600"])
    }

    @Test func transactionsThatWerePreparedBeforeMakeTablesBeCopied() throws {
        var assembly = assembly()
        try add(
            log { log in
                log.gtid()
                log.query("XA COMMIT X'62',X'',1")
            },
            to: &assembly
        )
        #expect(assembly.tablesToCopy == [0: .prepared])
    }

    /// A copy that was made between the preparation and the commit does not have what was prepared.
    @Test func preparedRowsThatACopyHasNotSeenAreReadWhenTheyTakeEffect() throws {
        var assembly = assembly([.made(.made("lists"), copied: MadeLog.position(2000))])
        try add(
            log { log in
                prepare(&log) { $0.row("lists", after: ["a", nil, nil]) }
                log.group { $0.row("lists", after: ["b", nil, nil]) }
                log.group { $0.row("others", after: ["c"]) }
            },
            to: &assembly
        )
        #expect(assembly.take().isEmpty)
        var commit = log { $0.query("XA COMMIT X'61',X'',1") }
        commit.move(to: 2600)
        try add(commit, to: &assembly)
        #expect(texts(assembly.take()) == ["commit 2600", "begin 2601", "read id=a", "commit 2700"])
        #expect(assembly.tablesToCopy.isEmpty)
    }

    /// What a prepared transaction did to rows that are not known is copied when it takes effect, and not before.
    @Test func aTableThatIsFollowedSinceThePreparationIsCopied() throws {
        var before = assembly([])
        try add(log { log in prepare(&log) { $0.row("lists", after: ["a", nil, nil]) } }, to: &before)
        var commit = log { $0.query("XA COMMIT X'61',X'',1") }
        commit.move(to: 1600)
        for (copied, isCopied) in [(1500, true), (1700, false)] as [(UInt64, Bool)] {
            var assembly = assembly([.made(.made("lists"), copied: MadeLog.position(copied))])
            assembly.prepared = before.prepared
            try add(commit, to: &assembly)
            #expect(assembly.tablesToCopy == (isCopied ? [0: .prepared] : [:]))
        }
    }

    @Test func tablesAreCopiedWhenAPreparedTransactionTakesEffect() throws {
        let bodies: [(inout MadeLog) -> Void] = [
            { $0.row("lists", after: ["a", "x"]) },
            { $0.row("lists", before: ["a", nil, nil], missingBefore: [0, 1]) },
            { $0.query("INSERT INTO lists VALUES (1)") }, { $0.row("folders", before: ["f", nil, nil]) },
        ]
        for body in bodies { try expectCopiesWithTheCommit(body) }
    }

    private func expectCopiesWithTheCommit(_ body: (inout MadeLog) -> Void) throws {
        var listsOfFolders = todosOfLists
        listsOfFolders.child = SourceTableName(schema: "app", name: "lists")
        listsOfFolders.parent = SourceTableName(schema: "app", name: "folders")
        var prepared = MadeLog()
        prepare(&prepared, body)
        prepared.gtid()
        for (copied, isCopied) in [(nil, true), (prepared.end, true), (prepared.end + 1000, false)] as [(UInt64?, Bool)]
        {
            let table = FollowedTable.made(.made("lists"), copied: copied.map { MadeLog.position($0 - 100) })
            var assembly = assembly([table], cascades: [listsOfFolders], ancestors: [.made("folders")])
            try add(prepared, to: &assembly)
            #expect(assembly.tablesToCopy.isEmpty)
            var commit = log { $0.query("XA COMMIT X'61',X'',1") }
            commit.move(to: prepared.end)
            try add(commit, to: &assembly)
            #expect(assembly.tablesToCopy == (isCopied ? [0: .prepared] : [:]))
        }
    }

    /// The events of a prepared transaction.
    private func prepare(_ log: inout MadeLog, onePhase: Bool = false, _ body: (inout MadeLog) -> Void) {
        log.gtid()
        log.query("XA START X'61',X'',1")
        body(&log)
        log.query("XA END X'61',X'',1")
        log.prepare("a", onePhase: onePhase)
    }

    @Test func aTransactionOfOnePhaseThatACopyHasSeenIsLeftOut() throws {
        var assembly = assembly([.made(.made("lists"), copied: MadeLog.position(5000))])
        try add(log { log in prepare(&log, onePhase: true) { $0.row("lists", after: ["a", "x"]) } }, to: &assembly)
        #expect(assembly.tablesToCopy.isEmpty)
        #expect(assembly.take().isEmpty)
    }
}
