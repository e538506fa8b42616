import TestSupport

/// Something that happens to the world at a time.
struct Step {
    enum Action {
        case write
        case disconnect, connect
        case changeUser(soft: Bool)
        case kill(afterFileChanges: Int), killNow, launch
        case linkDown(seconds: Int), linkSilent(seconds: Int), linkCut, linkSlow, linkLossy, linkRepeats
        case clock(aheadSeconds: Int)
        case fullDisk(seconds: Int)
        case backendBusy(seconds: Int), backendRejects(seconds: Int), shortTokens
        case administer
        case changeMembers
        case deploy
        case killService(afterFileChanges: Int)
    }

    /// Its number in the plan.
    let number: Int
    /// When, in milliseconds from the beginning.
    let time: UInt64
    /// The device, by its number; of no meaning for what concerns all.
    let device: Int
    let action: Action
    /// For its own choices.
    let seed: UInt64

    /// Plans what happens during a part of a run, in order.
    ///
    /// - Parameters:
    ///   - random: Decides.
    ///   - devices: How many devices there are.
    ///   - from: The beginning, in milliseconds.
    ///   - until: The end.
    ///   - firstNumber: The number of the first step.
    /// - Returns: The steps.
    static func plan(
        _ random: inout SeededGenerator,
        devices: Int,
        from: UInt64,
        until: UInt64,
        firstNumber: Int
    ) -> [Step] {
        var steps: [Step] = []
        var time = from
        while true {
            // About one step of a device in two minutes, and changes of others besides.
            time += UInt64(1 + random.number(below: 160_000 / max(devices, 1)))
            guard time < until else { return steps }
            steps.append(
                Step(
                    number: firstNumber + steps.count,
                    time: time,
                    device: random.number(below: devices),
                    action: action(&random),
                    seed: random.next()
                )
            )
        }
    }

    private static func action(_ random: inout SeededGenerator) -> Action {
        let choice = random.number(below: 200)
        return switch choice {
        case 0..<90: .write
        case 90..<130: .administer
        case 130..<138: .changeMembers
        case 138..<144: .disconnect
        case 144..<154: .connect
        case 154..<158: .changeUser(soft: random.number(below: 3) == 0)
        case 158..<162: .kill(afterFileChanges: random.number(below: 40))
        case 162..<164: .killNow
        case 164..<172: .launch
        case 172..<175: .linkDown(seconds: 1 + random.number(below: 300))
        case 175..<178: .linkSilent(seconds: 1 + random.number(below: 240))
        case 178..<182: .linkCut
        case 182..<184: .linkSlow
        case 184..<186: .linkLossy
        case 186..<188: .linkRepeats
        case 188..<190: .clock(aheadSeconds: random.number(below: 7200) - 3600)
        case 190..<192: .fullDisk(seconds: 1 + random.number(below: 120))
        case 192..<194: .backendBusy(seconds: 1 + random.number(below: 120))
        case 194..<196: .backendRejects(seconds: 1 + random.number(below: 300))
        case 196..<197: .shortTokens
        case 197..<199: .deploy
        default: .killService(afterFileChanges: random.number(below: 200))
        }
    }
}
