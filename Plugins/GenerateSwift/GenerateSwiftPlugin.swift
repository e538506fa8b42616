import Foundation
import PackagePlugin

/// `swift package generate-powersync …`: what `powersync generate swift …` does, in the folder of the package (docs/generate.md).
@main
struct GenerateSwiftPlugin: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) async throws {
        let process = Process()
        process.executableURL = try context.tool(named: "PowerSyncGenerate").url
        process.arguments = arguments
        process.currentDirectoryURL = context.package.directoryURL
        try process.run()
        process.waitUntilExit()
        // It has said what is wrong.
        if process.terminationStatus != 0 { exit(process.terminationStatus) }
    }
}
