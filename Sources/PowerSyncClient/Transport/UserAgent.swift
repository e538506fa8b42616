import Foundation
import PowerSyncProtocol

/// The name under which the SDK presents itself to the service, for example `powersync-swift/0.1.0 linux/6.1.0`.
package enum UserAgent {
    /// The product token, and the operating system with its version.
    package static let text: String = {
        let system = ProcessInfo.processInfo.operatingSystemVersion
        return """
            powersync-swift/\(PackageVersion.current) \
            \(systemName)/\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)
            """
    }()
}
