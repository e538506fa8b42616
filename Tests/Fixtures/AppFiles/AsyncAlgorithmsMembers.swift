// Members of AsyncAlgorithms after what PowerSync returns: the app imports the module.
import AsyncAlgorithms
import Foundation
import PowerSync

func follow(_ db: any PowerSyncDatabaseProtocol) async throws {
    for await connected in db.currentStatus.asFlow().map({ $0.connected }).removeDuplicates() { print(connected) }
    for try await rows in try db.watch("SELECT 1", mapper: { try $0.getInt(index: 0) }).debounce(for: .seconds(1)) {
        print(rows)
    }
}
