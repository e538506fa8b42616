import Foundation
import PowerSyncProtocol
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncTerminal

extension Doctor {
    /// With less free space than this, nothing can be written soon: 100 MiB.
    private static let leastFreeBytes: Int64 = 100 << 20
    /// The free space below which there is a warning: 1 GiB.
    private static let enoughFreeBytes: Int64 = 1 << 30
    /// A log that is longer than this is not copied into the database as it should be: 256 MiB.
    private static let longLogBytes: Int64 = 256 << 20

    /// Looks at the storage.
    ///
    /// - Parameters:
    ///   - configuration: Names it.
    ///   - isRunning: Whether the service seems to run: then it has the storage.
    ///   - findings: Gets what is wrong.
    /// - Returns: Whether it can be asked about more.
    /// - Throws: `CancellationError`.
    func checkStorage(
        _ configuration: ServiceConfiguration,
        isRunning: Bool,
        _ findings: inout [Finding]
    ) async throws -> Bool {
        let maintenance = configuration.storage.module.maintenance
        var isUsable = true
        do {
            try configuration.checkFiles()
            // A service that runs has a file for itself; a server is there for all.
            let isShared = type(of: configuration.storage.module).sharing == .anyNumber
            if !isRunning || isShared { try await configuration.checkStorage() }
            let version = try await configuration.maintaining { try await maintenance.version() }
            let size = configuration.storageSize.map { ", \(ByteCount.text($0))" } ?? ""
            if let found = version.found {
                let steps = version.isCurrent ? "" : ", brought to version \(version.current) at the next start"
                findings.ok(.storage, "version \(found)\(size)\(steps)", place: maintenance.place)
            } else {
                findings.ok(.storage, "does not exist yet; it is made at the first start", place: maintenance.place)
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            findings.fail(.storage, error)
            isUsable = false
        }
        let folders = Set(configuration.files.map { URL(filePath: $0.path).deletingLastPathComponent() })
        for folder in folders.map({ $0.path(percentEncoded: false) }).sorted() { checkDisk(at: folder, &findings) }
        for log in configuration.storage.module.files.compactMap(\.log) { checkLog(log, &findings) }
        for file in configuration.files { checkReaders(of: file, &findings) }
        return isUsable
    }

    /// Looks whether others can read a database, or change it: a service makes it for itself alone, and leaves those alone that are there.
    func checkReaders(of database: DatabaseFile, _ findings: inout [Finding]) {
        let folder = URL(filePath: database.path).deletingLastPathComponent().path(percentEncoded: false)
        // Other users do not get to the file through such a folder.
        guard (FileStamp.permissions(of: folder) ?? 0) & 0o001 != 0 else { return }
        let files = database.allPaths.filter {
            (FileStamp.permissions(of: $0) ?? 0) & 0o007 != 0
        }
        guard let first = files.first else { return }
        let isWritable = files.contains { (FileStamp.permissions(of: $0) ?? 0) & 0o002 != 0 }
        findings.warn(
            .storage,
            "every user of this machine can \(isWritable ? "change" : "read") the file, and the rows of all users are in it",
            place: first,
            remedy: "chmod o= \(files.map { "'\($0)'" }.joined(separator: " "))"
        )
    }

    private func checkDisk(at folder: String, _ findings: inout [Finding]) {
        guard let free = freeBytes(folder) else { return }
        let message = "\(ByteCount.text(free)) are free on the disk"
        let remedy = "Make room, or put the file on a larger disk; without room nothing is replicated any more."
        switch free {
        case ..<Self.leastFreeBytes: findings.fail(.storage, message, place: folder, remedy: remedy)
        case ..<Self.enoughFreeBytes: findings.warn(.storage, message, place: folder, remedy: remedy)
        default: findings.ok(.storage, message, place: folder)
        }
    }

    /// How many bytes are free where a folder is; `nil` when there is none.
    static func freeBytes(at folder: String) -> Int64? {
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder)
        return (attributes?[.systemFreeSize] as? NSNumber)?.int64Value
    }

    /// Looks at the length of a write-ahead log.
    func checkLog(_ path: String, _ findings: inout [Finding]) {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard let size = (attributes?[.size] as? NSNumber)?.int64Value, size > Self.longLogBytes else { return }
        findings.warn(
            .storage,
            "the write-ahead log has \(ByteCount.text(size)): something keeps it from being copied into the database",
            place: path,
            remedy: "End programs that read the file for long (shells, backups), or restart the service."
        )
    }
}

/// Numbers of bytes for people.
package enum ByteCount {
    /// `12 KiB`, `3.4 GiB`.
    package static func text(_ bytes: Int64) -> String {
        guard bytes >= 1024 else { return bytes.counted("byte") }
        var value = Double(bytes)
        var unit = ""
        for next in ["KiB", "MiB", "GiB", "TiB"] where value >= 1024 || unit.isEmpty {
            value /= 1024
            unit = next
        }
        let tenths = (value * 10).rounded() / 10
        return tenths < 10 && tenths != tenths.rounded() ? "\(tenths) \(unit)" : "\(Int(value.rounded())) \(unit)"
    }
}
