import NIOConcurrencyHelpers
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite
struct SharedAttachmentTableTests {
    @Test
    func membersHearOfAReleaseThatSomebodyWaitedFor() {
        let table = SharedAttachmentTable()
        let calls = NIOLockedValueBox(0)
        let member = table.join { calls.withLockedValue { $0 += 1 } }
        #expect(table.claim("a"))
        table.release("a")
        #expect(calls.withLockedValue { $0 } == 0)
        #expect(table.claim("a"))
        #expect(!table.claim("a"))
        table.release("a")
        #expect(calls.withLockedValue { $0 } == 1)
        #expect(table.claim("a"))
        withExtendedLifetime(member) {}
    }

    @Test
    func secondMemberKnowsThatItIsNotAloneAndLeavesWithItsLastReference() {
        let table = SharedAttachmentTable()
        var first: SharedAttachmentTable.Member? = table.join {}
        #expect(first?.isFirst == true)
        #expect(!table.join {}.isFirst)
        first = nil
        #expect(table.join {}.isFirst)
    }

    @Test
    func queuesOfOneDatabaseAndTableShareItWhateverTheCaseOfItsName() async throws {
        let database = ScriptedTransport().makeDatabase(schema: QueueHarness.schema)
        let other = ScriptedTransport().makeDatabase(schema: QueueHarness.schema)
        let table = SharedAttachmentTable.named("attachments", of: database)
        #expect(SharedAttachmentTable.named("ATTACHMENTS", of: database) === table)
        #expect(SharedAttachmentTable.named("documents", of: database) !== table)
        #expect(SharedAttachmentTable.named("attachments", of: other) !== table)
        try await database.close()
        try await other.close()
    }
}
