import Foundation
import PowerSync

func showListsFirst(_ database: any PowerSyncDatabaseProtocol) async throws {
    try await database.waitForFirstSync(priority: 1)
    show("the lists are there")
    try await database.waitForFirstSync()
    show("and everything else")
}

func showPriorities(_ database: any PowerSyncDatabaseProtocol) {
    for entry in database.currentStatus.priorityStatusEntries {
        show("\(entry.priority): \(entry.lastSyncedAt?.formatted() ?? "not yet")")
    }
    let lists = database.currentStatus.statusForPriority(BucketPriority(1))
    show(lists.hasSynced == true ? "lists are there" : "lists are on their way")
}
