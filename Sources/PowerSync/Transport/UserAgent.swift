import Foundation

/// The name under which the SDK presents itself to the service, for example `powersync-swift/0.1.0 linux/6.1.0`.
package enum UserAgent {
    /// The version of the SDK.
    package static let version = "0.1.0"

    /// The product token, and the operating system with its version.
    static let text: String = {
        let system = ProcessInfo.processInfo.operatingSystemVersion
        return """
            powersync-swift/\(version) \
            \(systemName)/\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)
            """
    }()
}
