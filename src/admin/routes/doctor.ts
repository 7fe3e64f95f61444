import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { OPERATORS } from '../http/roles.ts';
import { DoctorBody, DoctorReport } from '../schema/state.ts';
import type { AdminService } from '../service.ts';

export function addDoctorRoutes(app: AdminApp, service: AdminService): void {
  app.post(
    '/doctor',
    {
      config: { roles: OPERATORS, action: 'doctor.run' },
      schema: {
        summary: 'Check configuration, providers, models and store',
        body: DoctorBody,
        response: { 200: DoctorReport },
      },
    },
    async (request) => acting(service, request).doctor(request.body),
  );
}
