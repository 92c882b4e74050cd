// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Wakes a machine at its next deadline; a deadline that moved makes the old wake-up void.
final class WakeTimer {
    private unowned let world: SimulatedWorld
    private var deadline: MonotonicTime?
    private var generation: UInt64 = 0

    init(_ world: SimulatedWorld) { self.world = world }

    func set(_ deadline: MonotonicTime?, _ fire: @escaping () -> Void) {
        guard deadline != self.deadline else { return }
        self.deadline = deadline
        generation += 1
        guard let deadline else { return }
        let mine = generation
        world.schedule(at: deadline) { [weak self] in
            guard let self, self.generation == mine else { return }
            self.deadline = nil
            fire()
        }
    }
}
