import Foundation

/// A process of scripts/soak-faults: `FaultsWorker client JSON` or `FaultsWorker backend JSON`, with the settings of ``FaultsClient`` or
/// ``FaultsBackend``.
@main
struct FaultsWorker {
    static func main() async throws {
        guard CommandLine.arguments.count == 3 else {
            throw Mistake(description: "usage: FaultsWorker client|backend JSON")
        }
        let settings = Data(CommandLine.arguments[2].utf8)
        switch CommandLine.arguments[1] {
        case "client":
            try await FaultsClient(settings: JSONDecoder().decode(FaultsClient.Settings.self, from: settings)).run()
        case "backend":
            try await FaultsBackend(settings: JSONDecoder().decode(FaultsBackend.Settings.self, from: settings)).run()
        case let other:
            throw Mistake(description: "there is no \(other)")
        }
    }
}

/// What a process was told and cannot do.
struct Mistake: Error, CustomStringConvertible {
    let description: String
}
