import Foundation
import PowerSyncServiceCore
import PowerSyncTerminal

/// A kind of server on which the demo runs (`--source`): it says what it needs, what it makes there, and takes that away again.
///
/// Each kind conforms in the folder of its database; nothing else of the demo names one.
protocol DemoServer: SourceModule {
    /// What the demo makes on a server, and what the account needs for it: a paragraph of the command's help.
    static var demoNeeds: String { get }

    /// Runs the demo on the server, and takes away what it has made there, whatever happens.
    ///
    /// - Parameters:
    ///   - command: What the demo shows.
    ///   - folder: For files.
    ///   - key: What tokens are signed with.
    ///   - terminal: For the output.
    ///   - makeDemo: Makes the demo over a deployment.
    /// - Throws: ``DemoFailure``, ``Interruption``, `UnwritableOutput`, or an error of the server.
    func run(
        _ command: DemoCommand,
        _ folder: URL,
        key: DemoKey,
        terminal: Terminal,
        _ makeDemo: (any DemoDeployment) async throws -> Demo
    ) async throws
}
