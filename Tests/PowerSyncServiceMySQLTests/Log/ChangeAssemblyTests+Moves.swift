import MySQLBinlog
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// Columns in other places, and files in the places of others.
extension ChangeAssemblyTests {
    @Test func aFileThatTookThePlaceOfTheOneThatWasLookedAtIsNoticed() throws {
        for (madeAt, isOther) in [(1_700_000_000, false), (1_700_000_001, true), (nil, false)] as [(UInt32?, Bool)] {
            var assembly = assembly(fileMadeAt: madeAt)
            try add(log { $0.formatDescription() }, to: &assembly)
            #expect(assembly.isContradicted == isOther)
        }
    }

    /// Columns that no stream reads may stand before those that one reads.
    @Test func columnsThatMoveCostNothing() throws {
        func table(_ columns: String...) -> MySQLTable {
            var table = MySQLTable.made("lists", columns: columns)
            table.form = [:]
            table.columnForms = columns
            table.read(["name"])
            return table
        }
        func followed(_ table: MySQLTable, movedAt: LogPosition? = nil) -> FollowedTable {
            FollowedTable(
                descriptor: table.descriptor(SourceValueOptions()),
                table: table,
                form: MySQLValueForm(SourceValueOptions()),
                readColumns: ["name"],
                copied: nil,
                isToldByIncarnation: true,
                movedAt: movedAt
            )
        }
        let (before, after) = (followed(table("id", "name", "note")), table("id", "note", "name"))
        let found = [after.descriptor(SourceValueOptions()): after]
        func moves(_ sql: String) throws -> [SourceTableDescriptor: ColumnMove] {
            var assembly = self.assembly([before])
            try add(
                log {
                    $0.gtid(); $0.query(sql)
                },
                to: &assembly
            )
            guard case .statement(let statement, let schema, let start) = assembly.look else { return [:] }
            return assembly.moves(by: statement, schema: schema, start: start, found: found)
        }
        let start = MadeLog.position(MadeLog.start)
        let moved = try moves("ALTER TABLE lists MODIFY note TEXT AFTER id")
        let move = ColumnMove(earlier: before.descriptor, boundary: start, position: start)
        #expect(moved == [after.descriptor(SourceValueOptions()): move])
        #expect(try moves("ALTER TABLE lists MODIFY name TEXT AFTER note, RENAME COLUMN name TO x").isEmpty)
        #expect(try moves("ALTER TABLE other MODIFY note TEXT AFTER id").isEmpty)

        // The next reader begins before the statement, and knows of it; rows before it were read by the wrong columns.
        for hasNamelessRows in [false, true] {
            var reading = followed(after, movedAt: start)
            reading.hasNamelessRows = hasNamelessRows
            var assembly = self.assembly([reading])
            try add(
                log {
                    $0.gtid(); $0.query("ALTER TABLE lists MODIFY note TEXT AFTER id")
                },
                to: &assembly
            )
            guard case .statement(let statement, let schema, let begin) = assembly.look else {
                Issue.record("the reader does not look")
                return
            }
            assembly.settle(statement, schema: schema, start: begin, found: found)
            #expect(assembly.tablesToCopy.isEmpty == !hasNamelessRows)
        }
    }

    /// A reader begins at the boundary that was delivered before a move, or before it, or behind the move.
    @Test(arguments: [(1099, false, true), (1100, true, false), (1200, true, false), (1201, false, false)])
    func aMoveHoldsForAReaderThatComesToIt(start: UInt64, isKept: Bool, isReadAgain: Bool) {
        let table = MySQLTable.made("lists").descriptor(SourceValueOptions())
        var moves = [
            table: ColumnMove(earlier: table, boundary: MadeLog.position(1100), position: MadeLog.position(1200))
        ]
        #expect(moves.begin(at: MadeLog.position(start)) == (isReadAgain ? [table.name] : []))
        #expect(moves.isEmpty == !isKept)
    }
}
